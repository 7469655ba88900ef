"""What is computed a batch of tokens at a time does not depend on the batch."""

import numpy as np
import pytest

from pdjax.config import SLO
from pdjax.metrics import cuts
from pdjax.metrics.certainty import bounds
from pdjax.metrics.requests import request_table
from tests.metrics.scripted import simulated


@pytest.mark.parametrize("size", [1, 7, 100])
def test_batches_are_all_stretches_in_order(size, monkeypatch):
  monkeypatch.setattr(cuts, "BATCH_TOKENS", size)
  count = np.array([3, 0, 5, 20, 1, 0, 9])
  ends = np.cumsum(count)
  stretches, tokens = [], []
  for part, laid in cuts.batches(count):
    stretches += range(part.start, part.stop)
    tokens += range(laid.start, laid.stop)
    assert laid.stop == ends[part.stop - 1]
  assert stretches == [*range(len(count))]
  assert tokens == [*range(count.sum())]


def test_no_stretches_are_no_batch():
  assert list(cuts.batches(np.empty(0, np.int64))) == []


@pytest.mark.parametrize("kind", ["continuous", "chunked"])
def test_times_and_gaps_do_not_depend_on_batches(kind, monkeypatch):
  _, log, _, _ = simulated("1C", kind, num_requests=60, rate=40.0)
  whole = request_table(log)
  monkeypatch.setattr(cuts, "BATCH_TOKENS", 5)
  parts = request_table(log)
  assert np.array_equal(parts.tokens.token_ns, whole.tokens.token_ns)
  for name, column in whole.columns.items():
    assert np.ma.allequal(parts[name], column), name
  for field in ("at_ns", "values", "count"):
    assert np.array_equal(
        getattr(parts.gaps, field), getattr(whole.gaps, field)
    )
  assert bounds(parts, SLO()) == bounds(whole, SLO())
