"""Which shapes a worker compiles: every pass is padded up to one of them.

Few shapes compile fast and pad much. Every axis starts with a rung for each
doubling; the axis with most rungs loses one until the programs fit the limit.

Axes: B decode rows, U prompt tokens, M logical pages, and for what arrives
from other workers K heads, copies included.
"""

import bisect
import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Literal

Kind = Literal[
    "decode", "prefill", "mixed", "gather", "scatter",
    "begin", "stage", "end", "gather_layers", "scatter_layers",
]
STAGED: tuple[Kind, ...] = ("begin", "stage", "end")
"""What takes the place of `prefill` where pages leave it layer by layer."""

MAX_ROWS = 8
"""Most prompt chunks packed into one pass."""

LOW = {"B": 0.5, "U": 8}
"""Below this nothing is worth a program of its own: the first is twice it."""


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
  staging_M: tuple[int, ...] = ()
  """Pages of staging arrays: one ladder for the whole cluster."""
  K: tuple[int, ...] = ()
  """Heads that arriving pages may have; one for each sort of source."""


@dataclasses.dataclass(frozen=True, slots=True)
class Buckets:
  """The sizes of each axis, ascending."""

  B: tuple[int, ...]
  U: tuple[int, ...]
  M: int
  """One size: attention reads a context up to its true length, whatever the
  width of its page table, so narrower tables would only be more to compile."""
  kinds: tuple[Kind, ...]
  staging_M: tuple[int, ...] = ()
  K: tuple[int, ...] = ()

  @property
  def R(self) -> int:
    """Prompt chunks packed into one pass."""
    return min(MAX_ROWS, self.B[-1])

  def shapes(self) -> list[Shape]:
    """All programs of the worker."""
    axes = itertools.chain.from_iterable(map(self._axes, self.kinds))
    return [Shape(*sizes) for sizes in axes]

  def _axes(self, kind: Kind):
    """(kind, M, B, U, K) of one kind; a mixed pass has room for all decodes."""
    none = (0,)
    B = {"decode": self.B, "mixed": self.B[-1:]}.get(kind, none)
    U = self.U if kind in ("prefill", "mixed", *STAGED) else none
    M = self.staging_M if "gather" in kind or "scatter" in kind else (self.M,)
    K = self.K if "scatter" in kind else none
    return itertools.product((kind,), M, B, U, K)


def plan(limits: Limits, max_programs: int) -> Buckets:
  """The finest buckets of at most `max_programs` programs.

  Raises:
    ValueError: even one program a kind is too many.
  """
  rungs = {
      axis: max(1, round(math.log2(getattr(limits, axis) / low)))
      for axis, low in LOW.items()
  }
  while len((buckets := _buckets(limits, rungs)).shapes()) > max_programs:
    axis = max(rungs, key=rungs.__getitem__)
    if rungs[axis] == 1:
      raise ValueError(f"{max_programs=} is less than one a kind: {limits}")
    rungs[axis] -= 1
  return buckets


def fewest_programs(limits: Limits) -> int:
  """Programs of a worker with one size an axis."""
  return len(_buckets(limits, dict.fromkeys(LOW, 1)).shapes())


def _buckets(limits: Limits, rungs: dict[str, int]) -> Buckets:
  ladders = {
      axis: ladder(getattr(limits, axis), low, rungs[axis])
      for axis, low in LOW.items()
  }
  return Buckets(
      **ladders,
      M=limits.M,
      kinds=limits.kinds,
      staging_M=limits.staging_M,
      K=limits.K,
  )


def ladder(high: int, low: float, rungs: int) -> tuple[int, ...]:
  """`rungs` sizes at equal ratios, ascending to `high`.

  The ratio is such that one rung more, below the first, would be at `low`.

  >>> ladder(100, 1, 2)
  (10, 100)
  """
  ratio = max(1.0, high / low) ** (1 / rungs)
  sizes = {math.ceil(round(high / ratio**i, 6)) for i in range(rungs)}
  return tuple(sorted(sizes))


def rung(ladder: tuple[int, ...], size: int) -> int:
  """The smallest rung that holds `size`.

  Raises:
    ValueError: none does.
  """
  at = bisect.bisect_left(ladder, size)
  if at == len(ladder):
    raise ValueError(f"{size=} is above the largest bucket of {ladder}")
  return ladder[at]


def packed(
    sizes: Sequence[int], tokens: int, rows: int
) -> Iterator[list[tuple[int, int]]]:
  """Packs prompt chunks, in order, into passes of at most `tokens` and `rows`.

  Yields:
    per pass, which chunks it has, and how many tokens more of each.

  >>> list(packed([5, 9], tokens=8, rows=2))
  [[(0, 5), (1, 3)], [(1, 6)]]
  """
  one, room = [], tokens
  for chunk, size in enumerate(sizes):
    if len(one) == rows:
      yield one
      one, room = [], tokens
    while size > room:
      if room:
        one.append((chunk, room))
        size -= room
      yield one
      one, room = [], tokens
    one.append((chunk, size))
    room -= size
  if one:
    yield one
