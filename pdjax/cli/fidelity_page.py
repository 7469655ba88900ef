"""Fidelity as a page: each figure, its error, the noise floor, the target.

Targets: a median is within 10 %, or within what repeats of the run differ by if
that is more; a 99th percentile is within 25 %.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from pdjax.calibrate.fidelity import Compared
from pdjax.cli.fidelity_runs import Fidelity, Found
from pdjax.digits import plain

MEDIAN_ERROR = 0.10
TAIL_ERROR = 0.25


def lines(found: Fidelity) -> Iterator[str]:
  """The page, by what was measured on what, then by run."""
  yield from _HEADING
  yield f"Prices: {found.prices}."
  yield ""
  yield verdict(found)
  for conditions, runs in itertools.groupby(found.runs, lambda r: r.conditions):
    yield f"\n## {conditions}\n"
    yield "| run | figure | measured | simulated | error | noise floor | |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    runs = list(runs)
    for one in runs:
      yield from _rows(one)
    yield from (f"\n{one.label}: {n}." for one in runs for n in one.notes)
  yield "\n## Prices of single steps\n"
  yield "| run | steps | off in the median | at p90 | bias |"
  yield "| --- | --- | --- | --- | --- |"
  for one in found.runs:
    yield _steps(one)


_HEADING = """\
# Fidelity: an engine's runs and the calibrated simulator

Made by `python -m pdjax.fidelity --markdown`; not edited by hand. Requests of
measured runs are served again on the virtual clock, by the same policy, pages
and split. Of a run that was measured several times `measured` is the median,
and the noise floor what these repeats differ by, over it. Errors are simulated
/ measured - 1. A median is met within 10 % or the noise floor if that is more,
a p99 within 25 %. `n<300` marks percentiles of too few values: not judged.
""".splitlines()


def verdict(found: Fidelity) -> str:
  """How many figures are within their target, of those with enough values."""
  told = []
  for percentile in (50, 99):
    judged = [
        _met(one, figure) for one in found.runs for figure in one.figures
        if figure.percentile == percentile and not figure.few
    ]
    told.append(f"{sum(judged)} of {len(judged)} p{percentile}")
  return f"Within the target: {' and '.join(told)}."


def _met(one: Found, figure: Compared) -> bool:
  if figure.percentile == 50:
    most = max(MEDIAN_ERROR, _noise(one, figure) or 0.0)
  else:
    most = TAIL_ERROR
  return abs(figure.error) <= most


def _noise(one: Found, figure: Compared) -> float | None:
  return one.noise.get((figure.metric, figure.percentile))


def _rows(one: Found) -> Iterator[str]:
  for figure in one.figures:
    if figure.percentile not in (50, 99):
      continue
    noise = _noise(one, figure)
    judged = "-" if figure.few else "met" if _met(one, figure) else "**missed**"
    yield (
        f"| {one.label} | {figure.metric} p{figure.percentile}"
        f"{figure.few and f' {figure.few}'}"
        f" | {_ms(figure.measured_ms)} | {_ms(figure.simulated_ms)}"
        f" | {figure.error:+.1%} | {'-' if noise is None else f'{noise:.1%}'}"
        f" | {judged} |"
    )


def _ms(value: float) -> str:
  return f"{plain(value)} ms"


def _steps(one: Found) -> str:
  off = np.abs(one.step_errors)
  return (
      f"| {one.label} | {len(off)} | {np.median(off):.1%}"
      f" | {np.quantile(off, 0.9):.0%} | {np.median(one.step_errors):+.1%} |"
  )
