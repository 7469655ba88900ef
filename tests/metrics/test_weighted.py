"""A weighted sample is the sample written out."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdjax.metrics.weighted import Weighted

PAIRS = st.lists(
    st.tuples(st.integers(0, 10**12), st.integers(1, 50)), min_size=1,
    max_size=30,
)


@given(PAIRS, st.sampled_from([0, 1, 50, 90, 99, 100]))
def test_same_as_numpy_on_the_expanded_sample(pairs, percent):
  values, count = np.array(pairs, np.int64).T
  expanded = np.repeat(values, count)
  sample = Weighted.of(values, count)
  assert sample.total == len(expanded)
  assert sample.mean() == pytest.approx(expanded.mean())
  assert sample.max() == expanded.max()
  assert sample.percentile(percent) == pytest.approx(
      np.percentile(expanded, percent)
  )


@given(PAIRS, PAIRS)
def test_plus_pools_both(ours, theirs):
  both = Weighted.of(*np.array(ours, np.int64).T).plus(
      Weighted.of(*np.array(theirs, np.int64).T)
  )
  expected = sorted(v for v, n in ours + theirs for _ in range(n))
  assert np.repeat(both.values, both.count).tolist() == expected


def test_worst_tenth_by_hand():
  # Twenty values: the worst two are 9 and 5.
  sample = Weighted.of(np.array([9, 1, 5]), np.array([1, 16, 3]))
  assert sample.worst_mean(0.1) == 7
  assert Weighted.of(np.array([3])).worst_mean(0.1) == 3


def test_nothing_of_an_empty_sample():
  empty = Weighted.of(np.ma.masked_all(3, np.int64))
  assert empty.total == 0
  assert empty.mean() is empty.max() is empty.percentile(50) is None
  assert empty.worst_mean(0.1) is None


@pytest.mark.parametrize("scale", [1, 2**40, 2**61])
def test_values_are_sorted_with_their_counts(scale):
  values = np.array([5, 1, 3, 1, 2]) * (scale // 2)
  count = np.array([2, 9, 4, 1, 7])
  sample = Weighted.of(values, count)
  assert sorted(values) == sample.values.tolist()
  pairs = zip(sample.values, sample.count, strict=True)
  assert sorted(pairs) == sorted(zip(values, count, strict=True))


def test_a_mean_does_not_depend_on_the_number_of_threads():
  code = (
      "import numpy as np; from pdjax.metrics.weighted import Weighted;"
      "drawn = np.random.default_rng(1).normal(size=30_000);"
      "sample = Weighted.of(np.exp(3 * drawn));"
      "print(sample.mean().hex(), sample.worst_mean(0.9).hex())"
  )
  told = {
      subprocess.run(
          [sys.executable, "-c", code], check=True, capture_output=True,
          env=os.environ | {"OPENBLAS_NUM_THREADS": threads},
      ).stdout
      for threads in ("1", "2", "3")
  }
  assert len(told) == 1
