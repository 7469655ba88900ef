"""Pages of one worker in host memory, as the scheduler's host tier names them.

Only the worker's thread uses it. Dimension key: docs/notation.md.
"""

import itertools
import operator
from collections.abc import Sequence

import numpy as np

from pdjax.buckets import rung
from pdjax.engine import packing
from pdjax.engine.replica import Replica
from pdjax.hosttier import Move

Page = list[np.ndarray]
"""Keys and values of one page, as they leave the pool."""


class HostStore:
  """What was evicted from a pool and may come back, bit for bit."""

  def __init__(self):
    self._pages: dict[int, Page] = {}

  def __len__(self) -> int:
    return len(self._pages)

  def clear(self) -> None:
    self._pages.clear()

  def do(self, replica: Replica, moves: Sequence[Move]) -> None:
    """Moves pages, in order; alike ones next to each other as one."""
    most = replica.buckets.staging_M[-1]
    for kind, alike in itertools.groupby(moves, operator.itemgetter(0)):
      todo = list(alike)
      for first in range(0, len(todo), most):
        part = todo[first : first + most]
        pages = [page for _, page, _ in part]
        names = [name for _, _, name in part]
        match kind:
          case "out":
            self._take(replica, pages, names)
          case "back":
            self._give(replica, pages, names)
          case "drop":
            for name in names:
              self._pages.pop(name, None)

  def _take(
      self, replica: Replica, pages: list[int], names: list[int]
  ) -> None:
    leaves = replica.to_host(_padded(replica, pages))
    for place, name in enumerate(names):
      self._pages[name] = [leaf[:, place].copy() for leaf in leaves]

  def _give(
      self, replica: Replica, pages: list[int], names: list[int]
  ) -> None:
    content = [self._pages[name] for name in names]
    replica.from_host(content, _padded(replica, pages))


def _padded(replica: Replica, pages: list[int]) -> np.ndarray:
  return packing.padded(pages, rung(replica.buckets.staging_M, len(pages)))
