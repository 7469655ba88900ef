"""One side of a comparison: a design with its runs, or a row of a claim."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from pdjax.published.claim import Claim, Row
from pdjax.report.designs import (
  Seeds,
  designs_of,
  label_of,
  without_seed,
)
from pdjax.report.drawn import draw_of, shown_runs, undrawn
from pdjax.report.groups import ReportedRun


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rival:
  """What a ratio is formed of."""

  label: str
  source: str
  """Where it is from: a folder as it was given, or the name of a claim."""
  kind: str
  """`measured`, `simulated` or `vendor-reported`."""
  runs: Seeds
  """By seed; a row of a claim is one run, of seed 0."""
  drawn: tuple[ReportedRun, ...] = ()
  """All its runs under drawn costs; `runs` are of one draw alone."""
  claim: Claim | None = None
  unknown: tuple[str, ...] = ()
  """Contract fields that are not told."""

  @property
  def first(self) -> ReportedRun:
    return next(iter(self.runs.values()))

  @property
  def contract(self) -> Mapping[str, Any]:
    return self.first.conditions["contract"]

  @property
  def design(self) -> Mapping[str, Any]:
    return self.first.conditions["design"]

  @property
  def chips(self) -> int | None:
    return self.contract.get("chips")


def rivals_of(runs: Sequence[ReportedRun], source: str) -> list[Rival]:
  """The designs among some runs, in order; draws of the costs are none."""
  drawn: dict[str, list[ReportedRun]] = {}
  for run in filter(draw_of, runs):
    drawn.setdefault(_undrawn(run), []).append(run)
  return [
      Rival(
          label=label_of(each),
          source=source,
          kind=next(iter(each.values())).summary["kind"],
          runs=each,
          drawn=tuple(drawn.get(_undrawn(next(iter(each.values()))), ())),
      )
      for each in designs_of(shown_runs(runs))
  ]


def _undrawn(run: ReportedRun) -> str:
  """Equal for one design under whatever draw and seed."""
  return without_seed(undrawn(run.config or {"workload": {}}))


def claimed(claim: Claim, row: Row) -> Rival:
  """A row of a published claim."""
  run = ReportedRun(
      label=row.label,
      summary=row.figures,
      conditions={"contract": row.contract, "design": row.design},
  )
  return Rival(
      label=row.label, source=claim.name, kind=claim.claim_type,
      runs={0: run}, claim=claim, unknown=row.unknown,
  )
