"""A sample given as values with multiplicities and the times they came at."""

import dataclasses
import functools

import numpy as np

from pdjax.metrics.weighted import Weighted


@dataclasses.dataclass(frozen=True, eq=False)
class Timed:
  """Values, each counted `count` times, in no particular order."""

  at_ns: np.ndarray
  """Integer nanoseconds from the start of the run."""
  values: np.ndarray
  count: np.ndarray

  @classmethod
  def of(cls, at_ns: np.ndarray, values: np.ndarray) -> "Timed":
    """A sample of single values; masked ones are left out."""
    known = ~(np.ma.getmaskarray(at_ns) | np.ma.getmaskarray(values))
    kept = np.asarray(values)[known]
    return cls(np.asarray(at_ns)[known], kept, np.ones(len(kept), np.int64))

  @classmethod
  def room(cls, size: int) -> "Timed":
    """For a sample of up to `size` values, to be `put` there."""
    return cls(*(np.empty(size, np.int64) for _ in range(3)))

  def put(self, at: int, other: "Timed") -> int:
    """Writes another sample at a place; returns where it ends."""
    end = at + len(other.values)
    self.at_ns[at:end] = other.at_ns
    self.values[at:end] = other.values
    self.count[at:end] = other.count
    return end

  def first(self, size: int) -> "Timed":
    return Timed(self.at_ns[:size], self.values[:size], self.count[:size])

  @functools.cached_property
  def weighted(self) -> Weighted:
    """The same values without their times, in order."""
    return Weighted.of(self.values, self.count)
