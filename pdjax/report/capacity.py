"""What a design serves at most within its SLO, and the best of each strategy.

Under several rates a design's goodput is the highest rate per chip up to which
it kept the SLO at every rate tried; the next rate, which it missed, bounds it
from above. Under one rate it is the good requests per second and chip, and a
design that kept the SLO comes before any that missed it.
"""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from pdjax.report.study import Design, Point, Study

GOODPUT = "request_goodput_per_chip"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Goodput:
  """A design's, in requests per second and chip."""

  design: Design
  value: float
  low: float = float("nan")
  high: float = float("nan")
  """NaN, as `low`, where nothing bounds it."""
  at: Point
  """Where it was had, or the lowest load if nowhere."""
  note: str = ""
  """Such as `not bracketed`."""
  kept: bool = False
  """Whether the SLO was kept there."""

  @property
  def bounded(self) -> bool:
    return bool(np.isfinite(self.low) and np.isfinite(self.high))


def goodput_of(
    study: Study, design: Design, anchor: str = ""
) -> Goodput | None:
  """None where the SLO of none of its runs can be judged."""
  points = [p for p in design.points if p.met(anchor) is not None]
  if not points:
    return None
  if not study.under_load:
    return _at_one_load(design, points[0], anchor)
  return _among_rates(design, points, anchor)


def _at_one_load(design: Design, point: Point, anchor: str) -> Goodput:
  found = point.interval(GOODPUT)
  nothing = float("nan")
  return Goodput(
      design=design, at=point, kept=bool(point.met(anchor)),
      value=nothing if found.estimate is None else found.estimate,
      low=nothing if found.low is None else max(found.low, 0.0),
      high=nothing if found.high is None else found.high,
      note="" if found.low is not None else "one seed: no interval",
  )


def _among_rates(
    design: Design, points: Sequence[Point], anchor: str
) -> Goodput:
  missed = next((n for n, p in enumerate(points) if not p.met(anchor)), None)
  if missed == 0:
    return Goodput(
        design=design, value=0.0, low=0.0, high=points[0].rate, at=points[0],
        note="not bracketed: missed at the lowest rate tried",
    )
  if missed is None:
    return Goodput(
        design=design, value=points[-1].rate, low=points[-1].rate, kept=True,
        at=points[-1], note="not bracketed: met at the highest rate tried",
    )
  kept = points[missed - 1]
  return Goodput(
      design=design, value=kept.rate, low=kept.rate, high=points[missed].rate,
      at=kept, kept=True,
  )


def best_of_strategies(study: Study, anchor: str = "") -> list[Goodput]:
  best: dict[str, Goodput] = {}
  for design in study.designs:
    found = goodput_of(study, design, anchor)
    if found is None or not np.isfinite(found.value):
      continue
    kept = best.get(design.strategy)
    if kept is None or _rank(found) > _rank(kept):
      best[design.strategy] = found
  return ranked(best.values())


def ranked(found: Iterable[Goodput | None]) -> list[Goodput]:
  """Those that could be judged, the best first."""
  known = [one for one in found if one and np.isfinite(one.value)]
  return sorted(known, key=_rank, reverse=True)


def _rank(found: Goodput) -> tuple[bool, float, float]:
  """Those that kept the SLO first, then by goodput; equal ones by the share of
  good requests there."""
  share = found.at.mean("slo_attainment")
  return found.kept, found.value, 0.0 if np.isnan(share) else share
