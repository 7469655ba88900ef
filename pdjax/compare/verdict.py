"""All that a comparison of two rivals says, before it is put into words."""

import dataclasses
from collections.abc import Collection, Mapping

from pdjax.compare.agreement import Agreement, agreement
from pdjax.compare.figures import ANCHORED, PLAIN
from pdjax.compare.quotient import Better, Quotient, quotient
from pdjax.compare.replicas import EqualTotals, equal_totals
from pdjax.compare.rival import Rival
from pdjax.metrics.anchors import ANCHORS
from pdjax.report.groups import ReportedRun


@dataclasses.dataclass(frozen=True, kw_only=True)
class Verdict:
  """B against A."""

  a: Rival
  b: Rival
  agreement: Agreement
  plain: tuple[Quotient, ...] = ()
  """Empty, as `anchored`, where no ratio may be formed."""
  anchored: Mapping[str, Mapping[str, Quotient]] = dataclasses.field(
      default_factory=dict
  )
  """By figure, then by anchor."""
  totals: EqualTotals | None = None

  @property
  def seeds(self) -> list[int]:
    """Those that both were run with; none of a claim."""
    if self.a.claim or self.b.claim:
      return []
    return sorted(self.a.runs.keys() & self.b.runs.keys())

  @property
  def drawn(self) -> list[ReportedRun]:
    """All runs of both under drawn costs."""
    return [*self.a.drawn, *self.b.drawn]

  @property
  def empty(self) -> bool:
    """Whether the rivals have no figure in common."""
    return not self.plain and not self.anchored

  @property
  def compared(self) -> bool:
    return self.agreement.agreed and not self.empty

  @property
  def flips(self) -> dict[str, dict[str, Better | None]]:
    """Figures whose order depends on the anchor: who is better at each.

    Each of the two is better at some anchor, and at one at least by more than
    chance: else there is no order to be turned round.
    """
    return {
        stem: {at: found.better for at, found in each.items()}
        for stem, each in self.anchored.items()
        if {"A", "B"} <= {found.better for found in each.values()}
        and any(
            found.ratio and found.ratio.told_apart for found in each.values()
        )
    }


def verdict(a: Rival, b: Rival, allow: Collection[str] = ()) -> Verdict:
  """Compares two rivals as far as their contracts allow."""
  found = agreement(a, b, allow)
  if not found.agreed:
    return Verdict(a=a, b=b, agreement=found)
  plain = (quotient(a, b, figure) for figure in PLAIN)
  return Verdict(
      a=a,
      b=b,
      agreement=found,
      plain=tuple(q for q in plain if None not in (q.a, q.b)),
      anchored=_anchored(a, b),
      totals=equal_totals(a, b),
  )


def in_common(a: Rival, b: Rival) -> bool:
  """Whether there is any figure to divide, were the contracts equal."""
  plain = (quotient(a, b, figure) for figure in PLAIN)
  return any(None not in (q.a, q.b) for q in plain) or bool(_anchored(a, b))


def _anchored(a: Rival, b: Rival) -> dict[str, dict[str, Quotient]]:
  found = {
      stem: {at: quotient(a, b, figure) for at, figure in each.items()}
      for stem, each in ANCHORED.items()
  }
  return {
      stem: each
      for stem, each in found.items()
      if all(None not in (q.a, q.b) for q in each.values())
  }


def slo_flips(rival: Rival) -> list[dict[str, bool | None]]:
  """Whether the SLO is met, by anchor, of the runs where that is not one."""
  each = (
      {at: run.summary.get(f"slo_met_{at}") for at in ANCHORS}
      for run in rival.runs.values()
  )
  return [met for met in each if len(set(met.values())) > 1]
