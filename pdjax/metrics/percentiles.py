"""Percentiles that a sample is large enough for; others are refused.

Linear between order statistics, as in `numpy.percentile`. A tail percentile
needs so many values that three are expected beyond it, 30 for a p90 and 300
for a p99: of fewer, even independent ones, none at all may lie beyond the true
percentile, with a chance of 5 %. Gaps of one step have one value; they count
once.
"""

import math

from pdjax.metrics.weighted import Weighted

TAIL = 90
"""Percentiles from here on are refused of few values."""

_BEYOND = 3
"""exp(-3) is 5 %."""


def needed(percent: float) -> int:
  """Different values that a percentile needs.

  >>> needed(50), needed(90), needed(99)
  (1, 30, 300)
  """
  if percent < TAIL:
    return 1
  return math.ceil(_BEYOND * 100 / (100 - percent)) if percent < 100 else 1


def percentile(sample: Weighted, percent: float) -> float | None:
  """The percentile, or None of too few values."""
  if len(sample.values) < needed(percent):
    return None
  return sample.percentile(percent)
