"""Which workers of a host were busy, and with what, at any time of a log.

Units: `_ps` integer picoseconds.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from pdjax.simulate.sharing import Beside

Shares = tuple[tuple[Beside, float], ...]
"""Of a time, by who was busy beside a worker meanwhile; they sum to 1."""


@dataclasses.dataclass(frozen=True, slots=True)
class Busy:
  """A worker was, from when to when, and whether with prompts."""

  begins_ps: int
  ends_ps: int
  prompts: bool


class Occupancy:
  """Counts busy workers by kind; times of one worker do not overlap."""

  def __init__(self, busy: Iterable[Busy]):
    changes: dict[int, list[int]] = {}
    for one in busy:
      changes.setdefault(one.begins_ps, [0, 0])[not one.prompts] += 1
      changes.setdefault(one.ends_ps, [0, 0])[not one.prompts] -= 1
    times = sorted(changes)
    self._times_ps = np.array(times, np.int64)
    counts = np.array([changes[at] for at in times] or [[0, 0]], int)
    self._counts = np.cumsum(counts, axis=0).tolist()

  def shares(self, one: Busy) -> Shares:
    """Of a busy worker's time: its shares beside whom.

    >>> prefill, decodes = Busy(0, 10, True), Busy(5, 20, False)
    >>> Occupancy([prefill, decodes]).shares(prefill)
    ((Beside(prompts=0, decodes=0), 0.5), (Beside(prompts=0, decodes=1), 0.5))
    """
    span = one.begins_ps, one.ends_ps
    first, last = np.searchsorted(self._times_ps, span, "right")
    edges = [span[0], *self._times_ps[first:last].tolist(), span[1]]
    spent: dict[Beside, int] = {}
    for at, (low, high) in enumerate(itertools.pairwise(edges), first - 1):
      if high > low:
        prompts, decodes = self._counts[at]
        beside = Beside(prompts - one.prompts, decodes - (not one.prompts))
        spent[beside] = spent.get(beside, 0) + high - low
    total = max(1, span[1] - span[0])
    return tuple([(beside, time / total) for beside, time in spent.items()])


def share_matrix(shares: Sequence[Shares]) -> tuple[np.ndarray, np.ndarray]:
  """A row a pass, a column for each company; and who each company is."""
  companies = sorted({beside for each in shares for beside, _ in each})
  column = {beside: at for at, beside in enumerate(companies)}
  matrix = np.zeros((len(shares), len(companies)))
  for row, each in zip(matrix, shares, strict=True):
    for beside, share in each:
      row[column[beside]] = share
  return matrix, np.array(companies, float).reshape(-1, 2)
