"""Which runs share a block: those whose numbers may be set side by side.

Runs of one kind and one contract form a group. Runs that differ in nothing but
their number of chips may stay together too, under a line that says so.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pdjax.metrics.conditions import comparable


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReportedRun:
  """One run as reports show it."""

  label: str
  summary: Mapping[str, Any]
  conditions: Mapping[str, Any]
  config: Mapping[str, Any] | None = None
  """What `config.json` holds; equal ones are repeats of each other."""


_R = TypeVar("_R", bound=ReportedRun)


def groups_of(runs: Sequence[_R]) -> list[list[_R]]:
  """Measured groups first; within a kind all is in the order given."""
  groups: list[list[_R]] = []
  for kind in ("measured", "simulated"):
    first = len(groups)
    for run in runs:
      if run.summary["kind"] != kind:
        continue
      for group in groups[first:]:
        if all(_side_by_side(member, run) for member in group):
          group.append(run)
          break
      else:
        groups.append([run])
  return groups


def unequal(runs: Sequence[ReportedRun]) -> list[str]:
  """Contract fields in which any run differs from the first."""
  return sorted({
      field
      for run in runs[1:]
      for field in comparable(runs[0].conditions, run.conditions)
  })


def _side_by_side(a: ReportedRun, b: ReportedRun) -> bool:
  return set(comparable(a.conditions, b.conditions)) <= {"chips"}
