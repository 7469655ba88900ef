"""A sample given as values with multiplicities and the times they came at."""

import dataclasses

import numpy as np

from pdjax.metrics.weighted import Weighted


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
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

  def plus(self, other: "Timed") -> "Timed":
    return Timed(
        np.concatenate([self.at_ns, other.at_ns]),
        np.concatenate([self.values, other.values]),
        np.concatenate([self.count, other.count]),
    )

  def weighted(self) -> Weighted:
    """The same values without their times."""
    return Weighted.of(self.values, self.count)
