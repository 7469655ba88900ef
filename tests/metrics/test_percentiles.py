"""Percentiles of too few values are refused."""

import numpy as np
import pytest

from pdjax.metrics.percentiles import needed, percentile
from pdjax.metrics.weighted import Weighted


@pytest.mark.parametrize(("percent", "count"), [(50, 1), (90, 30), (99, 300)])
def test_counts(percent, count):
  assert needed(percent) == count
  values = np.arange(count)
  assert percentile(Weighted.of(values), percent) == np.percentile(
      values, percent
  )
  assert percentile(Weighted.of(values[:-1]), percent) is None


def test_gaps_of_one_step_count_once():
  sample = Weighted.of(np.arange(200), np.full(200, 64))
  assert percentile(sample, 99) is None
