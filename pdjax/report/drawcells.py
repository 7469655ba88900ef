"""One draw of the costs and one seed: what comes out there."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

from pdjax.report.bounded import EQUAL
from pdjax.report.capacity import Goodput
from pdjax.report.drawn import draw_of
from pdjax.report.record import Record
from pdjax.report.study import Design, Study
from pdjax.report.ties import contenders, equals, passed, unbeaten

Key = tuple[int, int]
"""A draw and a seed."""

TIED = f"equal to within {EQUAL:.1%}"
UNTOLD = "not told apart by the rates tried"
BOUNDED = "bounded by the load"
MISSED = "no design kept the SLO"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
  """One draw of the costs and one seed."""

  best: tuple[Goodput, ...]
  outcome: str
  """The name of who wins, or `TIED`, `UNTOLD`, `BOUNDED` or `MISSED`."""
  passed: bool
  """Whether another has more good requests than the winner, but misses."""


def key_of(run: Record) -> Key:
  return draw_of(run), run.tree()["workload"].get("seed", 0)


def studies_by_key(
    designs: Sequence[Design], keys: Sequence[Key]
) -> Iterator[tuple[Key, Study]]:
  """One of each draw and seed that has all designs under all loads."""
  found = [[_restricted(each, key) for each in designs] for key in keys]
  sizes = [sum(len(each.points) for each in one) for one in found]
  for key, one, size in zip(keys, found, sizes, strict=True):
    if size == max(sizes):
      yield key, Study(designs=tuple(one))


def _restricted(design: Design, key: Key) -> Design:
  points = [
      dataclasses.replace(point, runs=runs)
      for point in design.points
      if (runs := tuple(run for run in point.runs if key_of(run) == key))
  ]
  return dataclasses.replace(design, points=tuple(points))


def several_of(designs: Sequence[Design]) -> frozenset[str]:
  """Strategies of which the best design counts, and not one that it names."""
  each = Counter(design.strategy for design in designs)
  return frozenset(
      strategy for strategy, count in each.items()
      if count > 1 and len(each) > 1
  )


def name_of(found: Goodput, several: frozenset[str]) -> str:
  own = found.design
  return own.strategy if own.strategy in several else own.label


def cell_of(study: Study, several: frozenset[str]) -> Cell:
  best = contenders(study)
  return Cell(
      best=tuple(best), outcome=_outcome(study, best, several),
      passed=bool(passed(study, best)),
  )


def _outcome(
    study: Study, best: Sequence[Goodput], several: frozenset[str]
) -> str:
  if not best[0].kept or not best[0].value:
    return MISSED
  if unbeaten(study, best):
    return BOUNDED
  if equals(study, best):
    return UNTOLD if study.under_load else TIED
  return name_of(best[0], several)
