"""A queue that grows is told from one that only wanders."""

import numpy as np
import pytest

from pdjax.metrics.growth import grew
from tests.metrics.queues import Queue, arrivals, times_in_system


@pytest.mark.parametrize(
    ("utilisation", "least", "most"),
    [(0.5, 0, 0), (0.9, 0, 0.05), (1.2, 0.8, 1)],
)
def test_on_queues(utilisation, least, most):
  queue, runs = Queue(utilisation, warmup=0, requests=1000), 200
  rng = np.random.default_rng(1)
  gaps = arrivals(queue, runs, rng)
  arrival_ns = np.cumsum(1e6 * gaps, axis=1).astype(np.int64)
  left_ns = arrival_ns + 1e6 * times_in_system(queue, gaps, rng)
  flagged = [
      grew(came, left, came[500], came[-1])
      for came, left in zip(arrival_ns, left_ns, strict=True)
  ]
  assert least <= np.mean(flagged) <= most
