"""Spans of time by owner: how much of one lies within another.

Owners are small integers (workers). Spans of one owner that overlap or touch
are one. All answers are vectors and exact in integers.

Units: `_ns` integer nanoseconds from the start of the run.
"""

import dataclasses

import numpy as np

_ALL_TIME = 1 << 50
"""Longer than a run in nanoseconds: (owner, time) in one integer."""


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Spans:
  """Disjoint spans, in order of (owner, begin)."""

  owner: np.ndarray
  begin_ns: np.ndarray
  end_ns: np.ndarray
  _keys: np.ndarray
  _before_ns: np.ndarray
  """Length of all spans before each, and of all; any owner's."""

  @classmethod
  def of(
      cls, owner: np.ndarray, begin_ns: np.ndarray, end_ns: np.ndarray
  ) -> "Spans":
    """The union of spans, owner by owner; empty ones are dropped."""
    order = np.argsort(owner * _ALL_TIME + begin_ns, kind="stable")
    order = order[begin_ns[order] < end_ns[order]]
    begins = (owner * _ALL_TIME + begin_ns)[order]
    # Owners lie far apart, so the latest end so far is the owner's own.
    reached = np.maximum.accumulate((owner * _ALL_TIME + end_ns)[order])
    opens = np.ones(len(order), bool)
    opens[1:] = begins[1:] > reached[:-1]
    closes = np.append(opens[1:], True)[: len(opens)]
    owner = owner[order][opens]
    begin_ns = begins[opens] - owner * _ALL_TIME
    end_ns = reached[closes] - owner * _ALL_TIME
    before_ns = np.concatenate([[0], np.cumsum(end_ns - begin_ns)])
    return cls(owner, begin_ns, end_ns, begins[opens], before_ns)

  def __len__(self) -> int:
    return len(self.owner)

  @property
  def length_ns(self) -> np.ndarray:
    return self.end_ns - self.begin_ns

  def clipped(self, begin_ns: int, end_ns: int) -> "Spans":
    """What lies in [begin, end)."""
    return Spans.of(
        self.owner,
        np.maximum(self.begin_ns, begin_ns),
        np.minimum(self.end_ns, end_ns),
    )

  def plus(self, other: "Spans") -> "Spans":
    return Spans.of(
        np.concatenate([self.owner, other.owner]),
        np.concatenate([self.begin_ns, other.begin_ns]),
        np.concatenate([self.end_ns, other.end_ns]),
    )

  def total_ns(self, owners: int) -> np.ndarray:
    """Length of each owner's spans."""
    sums = np.zeros(owners, np.int64)
    np.add.at(sums, self.owner, self.length_ns)
    return sums

  def outside_ns(self, other: "Spans", owners: int) -> np.ndarray:
    """Length of each owner's spans that `other` does not cover."""
    covered_ns = other.within_ns(self.owner, self.begin_ns, self.end_ns)
    sums = np.zeros(owners, np.int64)
    np.add.at(sums, self.owner, self.length_ns - covered_ns)
    return sums

  def within_ns(
      self, owner: np.ndarray, begin_ns: np.ndarray, end_ns: np.ndarray
  ) -> np.ndarray:
    """Length of the owner's spans in [begin, end), query by query."""
    return self.until_ns(owner, end_ns) - self.until_ns(owner, begin_ns)

  def until_ns(self, owner: np.ndarray, at_ns: np.ndarray) -> np.ndarray:
    """Length of spans before a time; differences of one owner's count."""
    place = np.searchsorted(self._keys, owner * _ALL_TIME + at_ns)
    last = np.maximum(place - 1, 0)
    if not len(self):
      return np.zeros(np.shape(place), np.int64)
    mine = (place > 0) & (self.owner[last] == owner)
    beyond_ns = np.maximum(self.end_ns[last] - at_ns, 0)
    return self._before_ns[place] - np.where(mine, beyond_ns, 0)
