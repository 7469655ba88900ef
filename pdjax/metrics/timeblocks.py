"""Intervals of pooled gaps: blocks of time, drawn with replacement.

Pooled gaps between tokens belong to no independent requests: all answers of a
batch share a step, and neighbouring steps share a batch. So whole stretches of
time are what is drawn, all gaps that end in one together (Kuensch, Annals of
Statistics 1989, with blocks that do not overlap). The variance that such draws
have is known in closed form, so none are made.

A percentile's bounds are the values at the ranks that the share of gaps below
it may have (Woodruff, JASA 1952). That needs some gaps beyond: under `BEYOND`
independent ones there are no bounds.

Units: `at_ns` integer nanoseconds; results are in the values' unit.
"""

import dataclasses

import numpy as np

from pdjax.metrics.batches import BATCHES, error_of_mean
from pdjax.metrics.cuts import BATCH_TOKENS
from pdjax.metrics.intervals import CONFIDENCE, Interval, student, too_few
from pdjax.metrics.replications import share_interval
from pdjax.metrics.timed import Timed

BEYOND = 10
"""Effective values on the rarer side of a percentile that bounds need."""

_METHOD = "blocks of time"


def percentile(
    timed: Timed, percent: float, confidence: float = CONFIDENCE
) -> Interval:
  """A percentile of pooled values."""
  sample = timed.weighted
  estimate = sample.percentile(percent)
  if estimate is None or len(timed.values) < BATCHES:
    return too_few(estimate, 0, _METHOD, confidence)
  share = percent / 100
  error = _error(timed, timed.values <= estimate, share)
  ranks = share_interval(
      share, error, sample.total, BATCHES, _METHOD, confidence
  )
  assert ranks.effective and ranks.low is not None and ranks.high is not None
  if ranks.effective * min(share, 1 - share) < BEYOND:
    return dataclasses.replace(ranks, estimate=estimate, low=None, high=None)
  return dataclasses.replace(
      ranks,
      estimate=estimate,
      low=sample.percentile(100 * ranks.low),
      high=sample.percentile(100 * ranks.high),
  )


def mean(timed: Timed, confidence: float = CONFIDENCE) -> Interval:
  """The mean of pooled values."""
  estimate = timed.weighted.mean()
  if estimate is None or len(timed.values) < BATCHES:
    return too_few(estimate, 0, _METHOD, confidence)
  error = _error(timed, timed.values, estimate)
  return student(estimate, error, BATCHES, _METHOD, confidence=confidence)


def _error(timed: Timed, values: np.ndarray, mean: float) -> float:
  """Standard error of the mean of `values`, a ratio of blocks' sums."""
  begin_ns, span_ns = timed.at_ns.min(), int(np.ptp(timed.at_ns)) + 1
  held, total = np.zeros((2, BATCHES))
  for begin in range(0, len(values), BATCH_TOKENS):
    part = slice(begin, begin + BATCH_TOKENS)
    count = timed.count[part]
    block = (timed.at_ns[part] - begin_ns) * BATCHES // span_ns
    held += np.bincount(block, count, BATCHES)
    total += np.bincount(block, count * values[part], BATCHES)
  return error_of_mean((total - mean * held) / held.mean())
