"""How latencies are distributed, run by run."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from pdjax.digits import plain
from pdjax.metrics.weighted import Weighted
from pdjax.report import slolines
from pdjax.report.chart import Axis, Chart, Line, Panel
from pdjax.report.life import UNREAD, Life
from pdjax.report.study import Study, rate_of

PANELS = {
    "ttft": "time to first token (ms)",
    "ttst": "time to second token (ms)",
    "tpot": "time per output token (ms)",
    "itl": "gap between tokens (ms)",
}
_POINTS = 300
"""Of a curve; more would not be seen and would swell the page."""


def chart(
    study: Study, lives: Sequence[tuple[str, int, Life]]
) -> Chart:
  """CDFs.

  Args:
    lives: (label, style, run) of each curve.
  """
  head = Chart(
      name="latency_cdf", kind=study.kind, title="Latency distributions",
      answers="How are latencies spread, and how long is the tail?",
  )
  if not lives:
    return dataclasses.replace(head, absent=UNREAD)
  lives = [one for one in lives if one[2].samples["ttft"].total]
  if not lives:
    return dataclasses.replace(head, absent="no request finished")
  panels = tuple(_panel(study, metric, lives) for metric in PANELS)
  notes = ["Of finished requests; itl pools every gap of every request."]
  notes.insert(0, _loads(lives))
  if any(life.record.doubtful for _, _, life in lives):
    notes.append("Flagged runs are named so.")
  return dataclasses.replace(head, panels=panels, notes=tuple(notes))


def _loads(lives: Sequence[tuple[str, int, Life]]) -> str:
  """The load of each curve, which is one run's."""
  curves: dict[str, list[str]] = {}
  for label, _, life in lives:
    rate = rate_of([life.record])
    each = f"at {plain(rate)} requests/s/chip"
    load = "all at once" if np.isnan(rate) else each
    curves.setdefault(load, []).append(label)
  if len(curves) == 1:
    return f"One run of each design, {next(iter(curves))}."
  told = "; ".join(f"{load}: {', '.join(of)}" for load, of in curves.items())
  return f"One run of each design, at the load of its goodput, {told}."


def _panel(
    study: Study, metric: str, lives: Sequence[tuple[str, int, Life]]
) -> Panel:
  lines = tuple(
      _line(label, style, life, metric) for label, style, life in lives
      if life.samples[metric].total
  )
  what = "gaps" if metric == "itl" else "requests"
  return Panel(
      title=metric.upper(), x=Axis(label=PANELS[metric], log=True),
      y=Axis(label=f"share of {what}", low=0, high=1), marks=lines,
      limits=tuple(slolines.limits(study.slo, metric, "x")),
      empty="" if lines else "no values",
  )


def _line(label: str, style: int, life: Life, metric: str) -> Line:
  values_ms, share = cdf(life.samples[metric])
  flagged = " (flagged)" if life.record.doubtful else ""
  return Line(
      label=label + flagged, style=style, x=np.maximum(values_ms, 1e-6),
      y=share, steps=True, marked=False,
  )


def cdf(sample: Weighted) -> tuple[np.ndarray, np.ndarray]:
  """Values in milliseconds and the share at or under each, thinned."""
  if not sample.total:
    return np.empty(0), np.empty(0)
  share = np.cumsum(sample.count) / sample.total
  wanted = np.concatenate([
      np.linspace(0, 1, min(_POINTS, len(share))),
      1 - np.geomspace(1, 1e-4, 40),  # the tail
  ])
  keep = np.unique(
      np.searchsorted(share, np.sort(wanted)).clip(max=len(share) - 1)
  )
  values_ms = sample.values[keep] / 1e6
  # From nothing, straight up at the smallest value.
  return np.append(values_ms[0], values_ms), np.append(0, share[keep])
