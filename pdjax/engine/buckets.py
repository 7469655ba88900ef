"""Which shapes a worker compiles: every pass is padded up to one of them.

Few shapes compile fast and pad much. Every axis starts with a rung for each
doubling; the axis with most rungs is thinned until the programs fit the limit.

Axes: B decode rows, U prompt tokens, M logical pages, and for what arrives
from other workers K heads, copies included.
"""

import bisect
import dataclasses
import itertools
from typing import Literal

Kind = Literal["decode", "prefill", "mixed", "gather", "scatter"]

SMALLEST_U = 16
SMALLEST_M = 4


@dataclasses.dataclass(frozen=True, slots=True)
class Shape:
  """One program. Axes that its kind does not have are 0."""

  kind: Kind
  M: int
  B: int = 0
  U: int = 0
  K: int = 0

  def __str__(self) -> str:
    axes = [f"{name}={getattr(self, name)}" for name in "BUMK"]
    said = [axis for axis in axes if not axis.endswith("=0")]
    return f"{self.kind} {' '.join(said)}"


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
  """The largest pass a worker must be able to run."""

  B: int
  U: int
  M: int
  kinds: tuple[Kind, ...]
  K: tuple[int, ...] = ()
  """Heads that arriving pages may have; one for each sort of source."""


@dataclasses.dataclass(frozen=True, slots=True)
class Buckets:
  """The rungs of each axis, ascending."""

  B: tuple[int, ...]
  U: tuple[int, ...]
  M: tuple[int, ...]
  kinds: tuple[Kind, ...]
  K: tuple[int, ...] = ()

  def shapes(self) -> list[Shape]:
    """All programs of the worker."""
    axes = itertools.chain.from_iterable(map(self._axes, self.kinds))
    return [Shape(*sizes) for sizes in axes]

  def _axes(self, kind: Kind):
    """(kind, M, B, U, K) of one kind; a mixed pass has room for all decodes."""
    none = (0,)
    B = {"decode": self.B, "mixed": self.B[-1:]}.get(kind, none)
    U = self.U if kind in ("prefill", "mixed") else none
    K = self.K if kind == "scatter" else none
    return itertools.product((kind,), self.M, B, U, K)


def plan(limits: Limits, max_programs: int) -> Buckets:
  """The finest buckets of at most `max_programs` programs.

  Raises:
    ValueError: even one program a kind is too many.
  """
  ratios = {"B": 2, "U": 2, "M": 2}
  while len((buckets := _buckets(limits, ratios)).shapes()) > max_programs:
    longest = max(ratios, key=lambda axis: len(getattr(buckets, axis)))
    if len(getattr(buckets, longest)) == 1:
      raise ValueError(f"{max_programs=} is less than one a kind: {limits}")
    ratios[longest] *= 2
  return buckets


def _buckets(limits: Limits, ratios: dict[str, int]) -> Buckets:
  return Buckets(
      ladder(limits.B, ratios["B"], 1),
      ladder(limits.U, ratios["U"], SMALLEST_U),
      ladder(limits.M, ratios["M"], SMALLEST_M),
      limits.kinds,
      limits.K,
  )


def ladder(high: int, ratio: int, low: int) -> tuple[int, ...]:
  """From `high` down by `ratio`, not below `low`; ascending.

  >>> ladder(100, 4, 5)
  (7, 25, 100)
  """
  rungs = [high]
  while rungs[-1] > low and -(-rungs[-1] // ratio) >= low:
    rungs.append(-(-rungs[-1] // ratio))
  return tuple(reversed(rungs))


def rung(ladder: tuple[int, ...], size: int) -> int:
  """The smallest rung that holds `size`.

  Raises:
    ValueError: none does.
  """
  at = bisect.bisect_left(ladder, size)
  if at == len(ladder):
    raise ValueError(f"{size=} is above the largest bucket of {ladder}")
  return ladder[at]
