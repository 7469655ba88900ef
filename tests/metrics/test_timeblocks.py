"""Blocks of time: coverage of a queue's percentiles, gaps that share steps."""

import numpy as np
import pytest

from pdjax.metrics import timeblocks
from pdjax.metrics.timed import Timed
from tests.metrics.queues import Queue, arrivals, times_in_system

QUEUE = Queue(0.5, warmup=200, requests=20_000)
TRIALS = 150


@pytest.mark.parametrize("percent", [50, 90, 99])
def test_coverage_of_percentiles(percent):
  rng = np.random.default_rng(percent)
  truth = QUEUE.limit(percent / 100)
  held = []
  for _ in range(TRIALS):
    gaps = arrivals(QUEUE, 1, rng)
    times = times_in_system(QUEUE, gaps, rng)[0]
    at_ns = (1e6 * np.cumsum(gaps)[QUEUE.warmup :]).astype(np.int64)
    found = timeblocks.percentile(Timed.of(at_ns, times), percent)
    if found.low is not None:
      held.append(found.low <= truth <= found.high)
  assert len(held) > 0.8 * TRIALS
  assert np.mean(held) > 0.95 - 4 * (0.95 * 0.05 / len(held)) ** 0.5


def test_sharing_a_step_is_not_more_evidence():
  rng = np.random.default_rng(0)
  at_ns, gaps = np.arange(2000), rng.standard_exponential(2000)
  alone = timeblocks.mean(Timed(at_ns, gaps, np.ones(2000, np.int64)))
  batch = timeblocks.mean(Timed(at_ns, gaps, np.full(2000, 64)))
  assert (batch.low, batch.high) == pytest.approx((alone.low, alone.high))
  assert batch.low < 1 < batch.high


def test_few_values_beyond_have_no_bounds():
  at_ns, values = np.arange(500), np.arange(500.0)
  assert timeblocks.percentile(Timed.of(at_ns, values), 99).low is None
  assert timeblocks.percentile(Timed.of(at_ns[:5], values[:5]), 50).low is None
  nothing = timeblocks.mean(Timed.of(at_ns[:0], values[:0]))
  assert nothing.estimate is nothing.low is None
