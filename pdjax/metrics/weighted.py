"""A sample given as values with multiplicities.

A decode run of 64 requests and 100 steps has 6,400 gaps but 100 different
ones; percentiles of the 6,400 come from the 100.
"""

import dataclasses
import functools

import numpy as np

_ALONE = 8192
"""Products that one thread sums."""


@dataclasses.dataclass(frozen=True, eq=False)
class Weighted:
  """Sorted values, each counted `count` times; units are the values'."""

  values: np.ndarray
  count: np.ndarray

  @classmethod
  def of(
      cls, values: np.ndarray, count: np.ndarray | None = None
  ) -> "Weighted":
    """A sample; masked values are left out, `count` defaults to 1 each."""
    if count is None:
      values = np.sort(np.ma.compressed(values))
      return cls(values, np.ones(len(values), np.int64))
    return cls(*_sorted(np.asarray(values), count))

  def plus(self, other: "Weighted") -> "Weighted":
    return Weighted.of(
        np.concatenate([self.values, other.values]),
        np.concatenate([self.count, other.count]),
    )

  @functools.cached_property
  def total(self) -> int:
    return int(self.count.sum())

  @functools.cached_property
  def _ends(self) -> np.ndarray:
    """Where each value's places in the sample end."""
    return np.cumsum(self.count)

  def mean(self) -> float | None:
    """None of an empty sample, as everywhere here."""
    if not self.total:
      return None
    return float(_products(self.values, self.count) / self.total)

  def percentile(self, percent: float) -> float | None:
    """Linear between order statistics, as `numpy.percentile`."""
    if not self.total:
      return None
    position = (self.total - 1) * percent / 100
    below = int(position)
    low, high = self.values[
        np.searchsorted(
            self._ends, [below, min(below + 1, self.total - 1)], side="right"
        )
    ]
    return float(low + (high - low) * (position - below))

  def max(self) -> float | None:
    return float(self.values[-1]) if self.total else None

  def worst_mean(self, share: float) -> float | None:
    """Mean of the largest `share` of the sample, at least one value."""
    if not self.total:
      return None
    wanted = max(1, round(self.total * share))
    taken = np.minimum(
        self.count[::-1],
        np.maximum(0, wanted - np.cumsum(self.count[::-1]) + self.count[::-1]),
    )
    return float(_products(self.values[::-1], taken) / wanted)


def _products(values: np.ndarray, count: np.ndarray) -> float:
  """Sum of the products.

  Linear algebra libraries deal longer rows of fractions out to threads: the sum
  would depend on their number, and they go on spinning for a while.
  """
  cuts = [slice(i, i + _ALONE) for i in range(0, len(values), _ALONE)]
  return sum(np.dot(values[cut], count[cut]) for cut in cuts)


def _sorted(
    values: np.ndarray, count: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
  """Both in order of the values.

  Numpy sorts numbers several times faster than it finds their order, so each
  count rides in the low bits of its value where there is room.
  """
  bits = int(count.max(initial=0)).bit_length()
  whole = np.issubdtype(values.dtype, np.integer) and bits < 32
  most = 1 << 63 - bits if whole else 0
  if values.min(initial=0) < 0 or values.max(initial=0) >= most:
    order = np.argsort(values, kind="stable")
    return values[order], count[order]
  packed = values << bits
  packed |= count
  packed.sort()
  values = packed >> bits
  packed &= (1 << bits) - 1
  return values, packed
