"""Ratios of two strategies, paired by seed.

With one seed both serve the same requests, so what a seed makes easy or hard
is common to both and leaves the ratio. A ratio whose interval holds 1 is "not
significant": then the data do not say which of the two is better.
"""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np

from pdjax.metrics.intervals import CONFIDENCE, Interval, student, too_few

_METHOD = "paired by seed"
_OWN_BOUNDS = "one run each, their own bounds combined"


@dataclasses.dataclass(frozen=True, slots=True)
class Ratio:
  """A figure of one strategy, divided by that of another."""

  interval: Interval
  seeds: tuple[int, ...]
  """Those that both were run with."""

  @property
  def significant(self) -> bool:
    """Whether the interval leaves out 1."""
    return self.interval.side(1.0) != "undecided"

  @property
  def told_apart(self) -> bool:
    """Whether the interval leaves out 1 also as it is written, in hundredths:
    only then one of the two is called better."""
    low, high = self.interval.low, self.interval.high
    if low is None or high is None:
      return False
    return self.significant and not round(low, 2) <= 1 <= round(high, 2)

  def __str__(self) -> str:
    found = self.interval
    if found.estimate is None:
      return "no ratio"
    if found.low is None or found.high is None:
      return f"{found.estimate:.2f}x, not significant (no interval)"
    bounds = f"{found.estimate:.2f}x [{found.low:.2f}, {found.high:.2f}]"
    if not self.significant:
      return f"{bounds}, not significant"
    return bounds if self.told_apart else f"{bounds}, too near 1 to call"


def paired(
    figure: Mapping[int, float],
    base: Mapping[int, float],
    confidence: float = CONFIDENCE,
) -> Ratio:
  """The ratio of the means over the seeds that both have.

  Args:
    figure: values by seed; none negative.
    base: what to divide by.
  """
  seeds = tuple(sorted(figure.keys() & base.keys()))
  ours = np.array([figure[seed] for seed in seeds], np.float64)
  theirs = np.array([base[seed] for seed in seeds], np.float64)
  return Ratio(_interval(ours, theirs, confidence), seeds)


def of_bounds(ours: Interval, theirs: Interval) -> Ratio:
  """The ratio of two figures of single runs that have bounds of their own.

  Their distances are combined on the logarithmic scale as if the runs were
  independent (MOVER: Zou and Donner, Statistics in Medicine 2008). Runs of one
  seed share what it drew, so this is wider than pairing several seeds.
  """
  values = (ours.estimate, theirs.estimate)
  if values[0] is None or not values[1]:
    return Ratio(too_few(None, 1, _OWN_BOUNDS), ())
  ratio = values[0] / values[1]
  ends = (ours.low, ours.high, theirs.low, theirs.high)
  if not ratio or any(end is None or end <= 0 for end in ends):
    return Ratio(too_few(ratio, 1, _OWN_BOUNDS), ())
  (down, up), (their_down, their_up) = _reach(ours), _reach(theirs)
  return Ratio(
      dataclasses.replace(
          too_few(ratio, 1, _OWN_BOUNDS),
          low=ratio * math.exp(-math.hypot(down, their_up)),
          high=ratio * math.exp(math.hypot(up, their_down)),
      ),
      (),
  )


def _reach(found: Interval) -> tuple[float, float]:
  """How far the bounds are from the estimate, as logarithms."""
  assert found.estimate and found.low and found.high
  return (
      math.log(found.estimate / found.low),
      math.log(found.high / found.estimate),
  )


def _interval(
    ours: np.ndarray, theirs: np.ndarray, confidence: float
) -> Interval:
  count = len(ours)
  if not count or not theirs.any():
    return too_few(None, count, _METHOD, confidence)
  ratio = float(ours.mean() / theirs.mean())
  if count < 2 or not ratio:
    return too_few(ratio, count, _METHOD, confidence)
  apart = (ours - ratio * theirs) / theirs.mean()
  error = float(apart.std(ddof=1)) / count**0.5
  return student(
      ratio, error, count, _METHOD, scale="log", confidence=confidence
  )
