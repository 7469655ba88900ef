"""Whether two rivals' contracts agree, and what is asked to be overlooked.

Unequal numbers of chips alone are no obstacle: figures are then given per
chip. Measured is never divided by simulated, whatever is allowed.
"""

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from pdjax.compare.rival import Rival
from pdjax.metrics.conditions import comparable

UNKNOWN, KIND = "unknown", "claim_type"
"""Words that may be allowed beside the contract's fields: all that a
publication does not tell, and a vendor's word against a measurement."""

Pair = tuple[Any, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Agreement:
  """What two contracts have in common; fields by name with both values."""

  kinds: tuple[str, str]
  differing: Mapping[str, Pair]
  unknown: Mapping[str, Pair]
  """Fields that one side does not tell."""
  allow: frozenset[str] = frozenset()

  @property
  def never(self) -> bool:
    """Whether one is simulated and the other is not."""
    return (self.kinds[0] == "simulated") != (self.kinds[1] == "simulated")

  @property
  def obstacles(self) -> list[str]:
    """Fields for which no ratio is formed."""
    kind = [KIND] if self.kinds[0] != self.kinds[1] else []
    fields = [*kind, *(f for f in self.differing if f != "chips")]
    asked = [f for f in fields if f not in self.allow]
    if UNKNOWN in self.allow:
      return asked
    return asked + [f for f in self.unknown if f not in self.allow]

  @property
  def overlooked(self) -> list[str]:
    """Fields that would be obstacles had they not been allowed."""
    bare = dataclasses.replace(self, allow=frozenset()).obstacles
    return [field for field in bare if field not in self.obstacles]

  @property
  def agreed(self) -> bool:
    return not self.never and not self.obstacles


def agreement(
    a: Rival, b: Rival, allow: Collection[str] = ()
) -> Agreement:
  """Compares the contracts of the runs that have a seed in common.

  Without a common seed the first runs of both are looked at: they differ at
  least in what the seed drew.
  """
  seeds = sorted(a.runs.keys() & b.runs.keys())
  pairs = [(a.runs[seed], b.runs[seed]) for seed in seeds]
  unknown = {*a.unknown, *b.unknown}
  differing: dict[str, Pair] = {}
  for one, other in pairs or [(a.first, b.first)]:
    ours, theirs = one.conditions["contract"], other.conditions["contract"]
    for field in comparable(one.conditions, other.conditions):
      differing.setdefault(field, (ours.get(field), theirs.get(field)))
  return Agreement(
      kinds=(a.kind, b.kind),
      differing={f: p for f, p in differing.items() if f not in unknown},
      unknown={
          field: (_told(a, field), _told(b, field)) for field in sorted(unknown)
      },
      allow=frozenset(allow),
  )


def _told(rival: Rival, field: str) -> Any:
  return UNKNOWN if field in rival.unknown else rival.contract.get(field)
