"""One run's batches: coverage on queues, and effective sample sizes."""

import numpy as np
import pytest

from pdjax.metrics import batches
from tests.metrics.queues import Queue, arrivals, times_in_system

QUEUES = (
    Queue(0.5, warmup=200, requests=2000),
    Queue(0.8, warmup=500, requests=10_000),
    Queue(0.9, warmup=1500, requests=40_000),
)
SHARE, TRIALS = 0.9, 200


@pytest.mark.parametrize("queue", QUEUES, ids=lambda q: str(q.utilisation))
def test_coverage_on_queues(queue):
  rng = np.random.default_rng(3)
  good = [
      times_in_system(queue, arrivals(queue, 1, rng), rng)[0]
      <= queue.limit(SHARE)
      for _ in range(TRIALS)
  ]
  found = [batches.of_share(one) for one in good]
  held = [i.low <= SHARE <= i.high for i in found if i.low is not None]
  assert len(held) > TRIALS / 2
  assert np.mean(held) > 0.95 - 4 * (0.95 * 0.05 / len(held)) ** 0.5
  # The more loaded, the less a request says of its own.
  effective = np.median([i.effective for i in found]) / queue.requests
  assert effective < {0.5: 0.25, 0.8: 0.03, 0.9: 0.01}[queue.utilisation]


def test_independent_requests_count_in_full():
  rng = np.random.default_rng(0)
  found = batches.of_mean(rng.standard_normal(5000) + 10)
  assert 1500 < found.effective <= 5000
  assert found.low < 10 < found.high


def test_a_short_run_for_its_load_has_no_bounds():
  queue = Queue(0.9, warmup=1500, requests=1000)
  rng = np.random.default_rng(0)
  times = times_in_system(queue, arrivals(queue, 1, rng), rng)[0]
  found = batches.of_share(times <= queue.limit(SHARE))
  assert found.estimate is not None and found.effective < batches.ENOUGH
  assert found.low is found.high is None
  assert batches.of_share(times[:50] <= 1).low is None
  assert batches.of_share(np.empty(0, bool)).estimate is None


def test_constant_values_are_known():
  found = batches.of_mean(np.full(200, 3.0))
  assert found.low == found.high == 3.0
  everyone = batches.of_share(np.ones(500, bool))
  assert everyone.estimate == everyone.high == 1 and everyone.low > 0.95
