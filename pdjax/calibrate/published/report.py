"""The document of errors against published measurements, as Markdown.

Everything in it is computed from readings and prices: nothing is typed in but
the words. It holds errors and fitted scalars, no measurement.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pdjax.calibrate.published.pd_trade import SEEDS, Compared
from pdjax.calibrate.published.readings import (
    Errors,
    Reading,
    ScalarSet,
    error_of,
    errors_of,
)
from pdjax.calibrate.published.sources import Hardware
from pdjax.calibrate.published.words import INTRODUCTION, MISSING, TRADE

Priced = list[tuple[Reading, float]]
"""Readings with their signed errors."""


@dataclasses.dataclass(frozen=True)
class Target:
  """A bound on the tested part of some sources, with fitted scalars."""

  name: str
  holds: Callable[[str], bool]
  """Whether a source belongs to it."""
  median: float | None = None
  p90: float | None = None
  mean: float | None = None

  def verdict(self, errors: Errors) -> str:
    bounds = {"median": self.median, "p90": self.p90, "mean": self.mean}
    told = [
        f"{name} {_percent(getattr(errors, name))} (target {_percent(bound)})"
        for name, bound in bounds.items()
        if bound is not None
    ]
    met = all(
        getattr(errors, name) <= bound
        for name, bound in bounds.items()
        if bound is not None
    )
    return f"{'met' if met else '**missed**'}: {', '.join(told)}"


TARGETS = (
    Target("Layer times on A100", lambda s: s == "layer times", median=0.1),
    Target(
        "Collectives on A100 above 1 MB",
        lambda s: s.startswith(("all_reduce", "send_recv")), median=0.1,
    ),
    Target(
        "Of these, within a host",
        lambda s: s.endswith("one host"), median=0.1,
    ),
    Target(
        "DistServe's and Splitwise's A100 step times",
        lambda s: s.startswith(("DistServe", "Splitwise")),
        median=0.1, p90=0.25,
    ),
    Target(
        "The same with DistServe's fits of vLLM",
        lambda s: s.startswith(("DistServe", "Splitwise", "vLLM of 2024")),
        median=0.1, p90=0.25,
    ),
    Target(
        "TPOT of Llama-70B on H100 under vLLM",
        lambda s: s.endswith("H100 TPOT"), mean=0.08,
    ),
    Target("KV transfers on H800", lambda s: "transfers" in s, mean=0.08),
)


def document(
    hardware: Sequence[Hardware],
    fitted: Sequence[ScalarSet],
    trade: Sequence[Compared],
) -> str:
  """The whole of docs/fidelity.md."""
  first, second = _both(hardware, fitted)
  parts = [
      INTRODUCTION,
      headline(hardware, fitted),
      "## Source by source\n\n" + _sources(first, second),
      "## The fitted scalars\n\n" + _scalars(hardware, fitted),
      "## What is missing\n\n" + _missing(second),
      f"## {TRADE.format(seeds=SEEDS)}\n\n{_trade(trade)}",
  ]
  return "\n\n".join(parts) + "\n"


def headline(
    hardware: Sequence[Hardware], fitted: Sequence[ScalarSet]
) -> str:
  """The document's first table: errors of the tested parts, by target."""
  return _targets(*_both(hardware, fitted))


def _both(
    hardware: Sequence[Hardware], fitted: Sequence[ScalarSet]
) -> tuple[Priced, Priced]:
  """All readings from first principles, and with fitted scalars."""
  first, second = [], []
  for kind, scalars in zip(hardware, fitted, strict=True):
    first += _priced(kind, ScalarSet())
    second += _priced(kind, scalars)
  return first, second


def entry(kind: Hardware, scalars: ScalarSet) -> dict[str, Any]:
  """A fitted set as the simulator keeps it."""
  tested = [e for reading, e in _priced(kind, scalars) if not reading.fitted]
  errors = errors_of(tested)
  return {
      "hardware": kind.name,
      "families": list(kind.families),
      "scalars": dict(scalars.hardware),
      "engines": {name: dict(s) for name, s in scalars.engines.items()},
      "fitted_on": kind.fitted_on,
      "tested_readings": errors.count,
      "tested_median_error": round(errors.median, 4),
      "tested_p90_error": round(errors.p90, 4),
  }


def _priced(kind: Hardware, scalars: ScalarSet) -> Priced:
  return [
      (
          reading,
          error_of(
              reading,
              scalars.of(reading.engine, kind.assumed.get(reading.engine, {})),
          ),
      )
      for reading in kind.readings
  ]


def _tested(priced: Priced, holds: Callable[[str], bool]) -> list[float]:
  return [e for r, e in priced if not r.fitted and holds(r.source)]


def _targets(first: Priced, second: Priced) -> str:
  rows = []
  for target in TARGETS:
    plain = errors_of(_tested(first, target.holds))
    errors = errors_of(_tested(second, target.holds))
    rows.append((
        target.name, str(errors.count), _percent(plain.median),
        _percent(errors.median), _percent(errors.p90),
        _percent(errors.mean), target.verdict(errors),
    ))
  return _table(
      ("tested part", "readings", "(a) median", "(b) median", "(b) p90",
       "(b) mean", "target for (b)"), rows,
  )


def _sources(first: Priced, second: Priced) -> str:
  rows = []
  for source in dict.fromkeys(reading.source for reading, _ in second):
    plain, errors = (
        errors_of(_tested(priced, lambda s: s == source))  # noqa: B023
        for priced in (first, second)
    )
    fitted = sum(r.fitted for r, _ in second if r.source == source)
    rows.append((
        source, str(fitted), str(errors.count), _percent(plain.median),
        _percent(plain.p90), _percent(errors.median), _percent(errors.p90),
        f"{errors.bias:+.0%}".replace("%", " %"),
    ))
  return _table(
      ("source", "fitted", "tested", "(a) median", "(a) p90", "(b) median",
       "(b) p90", "(b) bias"), rows,
  )


def _scalars(
    hardware: Sequence[Hardware], fitted: Sequence[ScalarSet]
) -> str:
  blocks = []
  for kind, scalars in zip(hardware, fitted, strict=True):
    rows = [(name, "all", f"{v:g}") for name, v in scalars.hardware.items()]
    for engine, own in scalars.engines.items():
      rows += [(name, engine, f"{value:g}") for name, value in own.items()]
    table = _table(("scalar", "engine", "fitted"), rows)
    blocks.append(
        f"{kind.name}, {scalars.size} scalars. Fitted on:"
        f" {kind.fitted_on}.\n\n{table}"
    )
  return "\n\n".join(blocks)


def _missing(second: Priced) -> str:
  """Where tested errors are large, in words and by number."""
  blocks = []
  for title, words, holds in MISSING:
    chosen = [(r, e) for r, e in second if holds(r)]
    if not chosen:
      continue
    errors = errors_of([e for _, e in chosen])
    worst = sorted(chosen, key=lambda pair: -abs(pair[1]))[:5]
    cases = "; ".join(f"{r.case} {e:+.0%}" for r, e in worst)
    blocks.append(
        f"**{title}.** {words}\n\n{errors.count} readings, median error"
        f" {_percent(errors.median)}, bias {errors.bias:+.0%}. Furthest off:"
        f" {cases}."
    )
  return "\n\n".join(blocks)


def _trade(trade: Sequence[Compared]) -> str:
  rows = []
  for figure in trade:
    low, middle, high = figure.simulated_ratios
    off = [
        f"{ours / theirs - 1:+.0%}"
        for ours, theirs in zip(figure.simulated, figure.measured, strict=True)
    ]
    rows.append((
        figure.name, *off, f"{figure.measured_ratio:.2f}",
        f"{middle:.2f} ({low:.2f} to {high:.2f})",
        "yes" if figure.same_order else "**no**",
    ))
  return _table(
      ("figure", "error, 1P1D", "error, 2 servers", "ratio, published",
       "ratio, simulated", "same order"), rows,
  )


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
  lines = [heads, ["---"] * len(heads), *rows]
  return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _percent(share: float) -> str:
  return f"{100 * share:.1f} %"
