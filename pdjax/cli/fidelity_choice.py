"""Which design the simulator would choose, and what that would cost.

Only among designs under one contract: a goodput at another rate, or of another
workload, says nothing about which design is better.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pdjax.calibrate.fidelity import lost_by_choice, rank_correlation
from pdjax.metrics.conditions import comparable


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Design:
  """A run, measured and simulated."""

  label: str
  conditions: Mapping[str, Any]
  """Its `conditions.json`."""
  measured: float
  """Goodput, requests a second."""
  simulated: float


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
  """Among designs that may be compared."""

  designs: tuple[str, ...]
  rank_correlation: float | None
  """Of designs by goodput: Kendall's tau-b; None of fewer than three."""
  lost: float | None
  """Share of the best measured goodput that the simulator's choice loses."""


def choices(designs: Iterable[Design]) -> Iterator[Choice]:
  """One for every contract that several designs ran under."""
  for group in _alike(designs):
    if len(group) > 1:
      measured = [design.measured for design in group]
      simulated = [design.simulated for design in group]
      yield Choice(
          designs=tuple(design.label for design in group),
          rank_correlation=rank_correlation(measured, simulated),
          lost=lost_by_choice(measured, simulated),
      )


def _alike(designs: Iterable[Design]) -> Sequence[list[Design]]:
  groups: list[list[Design]] = []
  for design in designs:
    for group in groups:
      if not comparable(group[0].conditions, design.conditions):
        group.append(design)
        break
    else:
      groups.append([design])
  return groups
