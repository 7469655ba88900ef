"""Intervals from seeds hold the truth of a queue as often as they say."""

import numpy as np
import pytest
from scipy.special import stdtrit

from pdjax.metrics import replications
from tests.metrics.queues import Queue, arrivals, times_in_system

QUEUES = (
    Queue(0.5, warmup=200, requests=1000),
    Queue(0.8, warmup=500, requests=2000),
    Queue(0.9, warmup=1500, requests=5000),
)
SHARE = 0.9
TRIALS, SEEDS = 300, 8


def good_requests(queue, rng):
  """Requests within the limit, of each of `SEEDS` runs."""
  times = times_in_system(queue, arrivals(queue, SEEDS, rng), rng)
  return (times <= queue.limit(SHARE)).sum(axis=1)


@pytest.mark.parametrize("queue", QUEUES, ids=lambda q: str(q.utilisation))
def test_coverage_on_queues(queue):
  rng = np.random.default_rng(7)
  held = wilson_held = 0
  for _ in range(TRIALS):
    good = good_requests(queue, rng)
    found = replications.of_shares(good, [queue.requests] * SEEDS)
    held += found.low <= SHARE <= found.high
    low, high = wilson(good[0], queue.requests)
    wilson_held += low <= SHARE <= high
  # Four standard errors of the count: 5 % missed, give or take.
  assert abs(held / TRIALS - 0.95) < 4 * (0.95 * 0.05 / TRIALS) ** 0.5
  # Independent draws are not what a queue makes.
  assert wilson_held / TRIALS < 0.65


def wilson(good, sent, z=1.96):
  share, more = good / sent, z * z / sent
  reach = z * (share * (1 - share) / sent + more / 4 / sent) ** 0.5
  return tuple(
      (share + more / 2 + side * reach) / (1 + more) for side in (-1, 1)
  )


def test_means_by_hand():
  found = replications.of_means([1.0, 2.0, 3.0])
  reach = stdtrit(2, 0.975) / 3**0.5  # standard deviation 1
  assert found.estimate == 2
  assert (found.low, found.high) == pytest.approx((2 - reach, 2 + reach))
  assert found.side(8) == "below" and found.side(-8) == "above"
  assert found.side(2.1) == "undecided"


def test_one_replication_has_no_bounds():
  for found in (
      replications.of_means([1.0]), replications.of_shares([9], [10])
  ):
    assert found.low is None and found.side(0.0) == "undecided"
  assert replications.of_shares([], []).estimate is None
  assert replications.of_shares([0, 0], [0, 0]).estimate is None


def test_no_miss_is_no_certainty():
  found = replications.of_shares([300] * 8, [300] * 8)
  assert found.estimate == found.high == 1
  assert 1 - 20 / 2400 < found.low < 1 - 3 / 2400


def test_longer_replications_count_for_more():
  assert replications.of_shares([0, 90], [10, 90]).estimate == 0.9
