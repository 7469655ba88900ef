"""Workers whose devices share one host: what each loses to the others.

Virtual devices on a processor share its cores, and workers on one device share
that; threads that drive them share an interpreter. What a pass loses depends on
what the others are at: a neighbour's prefill fills the cores for long, its
decodes ask for the interpreter again and again. So every price rises by so much
for each neighbour that is busy with prompts, and by so much for each that only
decodes.

Units: `_ps` picoseconds.
"""

import dataclasses
from typing import NamedTuple


class Beside(NamedTuple):
  """Neighbours of a worker that are busy, by what they are at."""

  prompts: int = 0
  """In a pass with prompts."""
  decodes: int = 0
  """In a pass of decodes alone."""


ALONE = Beside()

NEIGHBOURS = Beside._fields
"""Kinds of neighbours; the fields of `Sharing`."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Sharing:
  """By how much each price rises beside one neighbour; empty: by nothing.

  Both in the order of `fittedcost.PRICES`.
  """

  prompts: tuple[int, ...] = ()
  decodes: tuple[int, ...] = ()

  def __post_init__(self):
    if min(self.prompts + self.decodes, default=0) < 0:
      raise ValueError(f"{self}: nobody is quicker beside others")

  def rise_ps(self, price: int, beside: Beside) -> int:
    """Of a price, by its place."""
    counts = zip((self.prompts, self.decodes), beside, strict=True)
    return sum(rises[price] * count for rises, count in counts if rises)


ISOLATED = Sharing()
