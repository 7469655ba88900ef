"""A trace in words, and its figure."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pdjax import config
from pdjax.digits import plain
from pdjax.metrics.percentiles import needed
from pdjax.report.chart import Axis, Chart, Line, Panel
from pdjax.workload import build
from pdjax.workload.arrivals import PS_PER_S
from pdjax.workload.fits import TAIL, fits_of
from pdjax.workload.statistics import describe
from pdjax.workload.traces import Trace
from pdjax.workload.workload import Workload

_FIGURES = ("mean", "p50", "p90", "p99", "max")
_PERCENT = {"p50": 50, "p90": 90, "p99": 99}

BIN_S = 10
"""Arrivals are counted in bins of this length."""

Reuse = Sequence[tuple[float, float]]
"""Of `pdjax.workload.reuse.reuse_curve`."""


def built(workload: config.Workload, trace: Trace) -> Workload:
  """All requests of a trace as they are; at once where it says no times."""
  if not trace.timed:
    workload = dataclasses.replace(workload, arrival="all_at_once")
  return build.from_trace(workload, trace)


def lines(
    workload: config.Workload, trace: Trace, load: Workload, reuse: Reuse
) -> Iterator[str]:
  """What a reader wants to know first."""
  facts = describe(load)
  yield (
      f"{trace.source}: {workload.kind}, {facts['num_requests']} requests over"
      f" {facts['duration_s']:.1f} s"
      + (f", {plain(facts['rate_per_s'])}/s" if facts["rate_per_s"] else "")
  )
  yield from (f"- {note}" for note in load.conditions["notes"])
  yield from _arrivals(load)
  yield ""
  yield from _table([
      ("tokens", *_FIGURES),
      *(
          (name, *_figures(facts[f"{name}_tokens"], len(load.requests)))
          for name in ("prompt", "output")
      ),
  ])
  yield from _fits(load)
  yield from _reuse(reuse)


def _figures(spread: Mapping[str, float], count: int) -> Iterator[str]:
  """Figures of `count` lengths; a percentile of too few is refused."""
  for name in _FIGURES:
    least = needed(_PERCENT.get(name, 0))
    yield f"n<{least}" if count < least else f"{spread[name]:.0f}"


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
  """Rows under each other, columns as wide as their longest entry needs."""
  widths = [
      max(8, *(len(entry) for entry in entries))
      for entries in zip(*rows, strict=True)
  ]
  for name, *entries in rows:
    yield f"{name:<{widths[0]}}" + "".join(
        f" {entry:>{width}}"
        for entry, width in zip(entries, widths[1:], strict=True)
    )


def chart(name: str, load: Workload, reuse: Reuse) -> Chart:
  """Arrivals over time, lengths with their fits, prefix reuse if any."""
  drawn = [_arrival_panel(load)] if _span_s(load) else []
  drawn += [_length_panel(load, name) for name in ("prompt", "output")]
  if reuse:
    size, share = np.array(reuse, np.float64).T
    drawn.append(Panel(
        x=Axis(label="prefix cache (tokens)", log=True),
        y=Axis(label="share of prompt tokens found", low=0),
        marks=(Line(
            label="least recently used", style=0, x=size, y=share, marked=False,
        ),),
    ))
  return Chart(
      name="workload", title=name, panels=tuple(drawn),
      answers="When do requests come, and how long are they?",
  )


def _lengths(load: Workload, name: str) -> np.ndarray:
  if name == "output":
    return np.array(load.output_tokens)
  return np.array([request.prompt_tokens for request in load.requests])


def _times_s(load: Workload) -> np.ndarray:
  return np.array([r.arrival_ps for r in load.requests]) / PS_PER_S


def _span_s(load: Workload) -> float:
  return float(np.ptp(_times_s(load)))


def _counts(load: Workload) -> np.ndarray:
  """Arrivals in each whole bin."""
  bins = (_times_s(load) // BIN_S).astype(int)
  return np.bincount(bins)[: max(1, bins.max())]


def _arrivals(load: Workload) -> Iterator[str]:
  if not _span_s(load):
    return
  gaps_s = np.diff(_times_s(load))
  cv = gaps_s.std() / gaps_s.mean()
  counts = _counts(load)
  busiest = counts.max() / max(counts.mean(), 1e-9)
  yield (
      f"arrivals: gaps vary by cv {cv:.2f} (Poisson: 1); the busiest {BIN_S} s"
      f" have {busiest:.1f} times the mean"
  )


def _fits(load: Workload) -> Iterator[str]:
  yield ""
  for name in ("prompt", "output"):
    tokens = _lengths(load, name)
    tail = len(tokens) >= needed(100 * TAIL)
    for fit in fits_of(tokens):
      law = ", ".join(f"{k} {plain(v, 4)}" for k, v in fit.parameters.items())
      p99 = f"{fit.off(tokens):+.0%}" if tail else f"n<{needed(100 * TAIL)}"
      yield (
          f"{name} as {fit.name}: {law}; p50 {fit.off(tokens, 0.5):+.0%},"
          f" p99 {p99}"
      )
      if tail and fit.misses_tail(tokens):
        yield (
            f"! {fit.name} misses the tail of {name} lengths: its p99 is"
            f" {1 + fit.off(tokens):.2f} of the trace's"
        )


def _reuse(reuse: Reuse) -> Iterator[str]:
  if not reuse:
    return
  yield ""
  yield "prefix reuse, share of prompt tokens by size of the cache (tokens):"
  yield "  " + "  ".join(f"{plain(size)}: {share:.1%}" for size, share in reuse)


def _arrival_panel(load: Workload) -> Panel:
  counts = _counts(load)
  return Panel(
      x=Axis(label="time (s)", low=0), y=Axis(label="requests/s", low=0),
      marks=(Line(
          label=f"mean of {BIN_S} s", style=0, marked=False,
          x=np.arange(len(counts)) * float(BIN_S), y=counts / BIN_S,
      ),),
  )


def _length_panel(load: Workload, name: str) -> Panel:
  """The share of longer ones would hide the body; quantiles show both."""
  tokens = np.sort(_lengths(load, name)).astype(float)
  shares = (np.arange(len(tokens)) + 0.5) / len(tokens)
  lines = [Line(label="trace", style=0, x=tokens, y=shares, marked=False)]
  shown = np.linspace(0.005, max(TAIL, 1 - 0.5 / len(tokens)), 200)
  for style, fit in enumerate(fits_of(tokens), start=1):
    lines.append(Line(
        label=fit.name, style=style, x=np.asarray(fit.quantile(shown)), y=shown,
        marked=False,
    ))
  return Panel(
      x=Axis(label=f"{name} tokens", log=True),
      y=Axis(label="share of requests up to it", low=0, high=1),
      marks=tuple(lines),
  )
