"""Rivals of unequal size: replicas of each that fill the larger one's chips.

Replicas share the load out evenly and do not meet, so n of them serve n times
as much at n times the load; chips that no whole replica fills stand idle and
count all the same.
"""

import dataclasses

from pdjax.compare.figures import GOODPUT
from pdjax.compare.quotient import quotient
from pdjax.compare.rival import Rival


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Filled:
  """One rival on the chips of the larger one."""

  replicas: int
  idle_chips: int
  goodput_per_s: float | None
  """Good requests of all replicas together."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class EqualTotals:
  """Both rivals on as many chips."""

  chips: int
  a: Filled
  b: Filled

  @property
  def ratio(self) -> float | None:
    """B over A, of goodput on all chips, idle ones included."""
    if self.b.goodput_per_s is None or not self.a.goodput_per_s:
      return None
    return self.b.goodput_per_s / self.a.goodput_per_s


def equal_totals(a: Rival, b: Rival) -> EqualTotals | None:
  """None where both have as many chips, or one does not say."""
  if not a.chips or not b.chips or a.chips == b.chips:
    return None
  total, found = max(a.chips, b.chips), quotient(a, b, GOODPUT)
  return EqualTotals(
      chips=total,
      a=_filled(total, a.chips, found.a),
      b=_filled(total, b.chips, found.b),
  )


def _filled(total: int, chips: int, per_chip: float | None) -> Filled:
  replicas = total // chips
  return Filled(
      replicas=replicas,
      idle_chips=total - replicas * chips,
      goodput_per_s=None if per_chip is None else per_chip * chips * replicas,
  )
