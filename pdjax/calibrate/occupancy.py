"""How many workers of a host were busy, at any time of a log.

Units: `_ps` integer picoseconds.
"""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

Busy = tuple[int, int]
"""When a worker began something, and when it was over."""


class Occupancy:
  """Counts busy workers; those of one worker do not overlap."""

  def __init__(self, busy: Iterable[Busy]):
    changes: dict[int, int] = {}
    for begin_ps, end_ps in busy:
      changes[begin_ps] = changes.get(begin_ps, 0) + 1
      changes[end_ps] = changes.get(end_ps, 0) - 1
    times = sorted(changes)
    self._times_ps = np.array(times, np.int64)
    self._busy = [*itertools.accumulate(changes[at] for at in times)]

  def shares(self, begin_ps: int, end_ps: int) -> tuple[float, ...]:
    """Of a worker's busy time: its shares with 1, 2, ... workers busy.

    >>> Occupancy([(0, 10), (5, 20)]).shares(0, 10)
    (0.5, 0.5)
    """
    first, last = np.searchsorted(self._times_ps, (begin_ps, end_ps), "right")
    edges = [begin_ps, *self._times_ps[first:last].tolist(), end_ps]
    spent: dict[int, int] = {}
    for at, (low, high) in enumerate(itertools.pairwise(edges), first - 1):
      if high > low:
        busy = max(1, self._busy[at])
        spent[busy] = spent.get(busy, 0) + high - low
    total = max(1, end_ps - begin_ps)
    most = max(spent, default=1)
    return tuple(spent.get(busy, 0) / total for busy in range(1, most + 1))


def share_matrix(shares: Sequence[tuple[float, ...]]) -> np.ndarray:
  """A row a pass, a column for each number of busy workers."""
  matrix = np.zeros((len(shares), max(map(len, shares), default=1)))
  for row, each in zip(matrix, shares, strict=True):
    row[: len(each)] = each
  return matrix
