"""Ratios paired by seed: nominal where nothing differs, sharp where it does."""

import numpy as np
import pytest

from pdjax.metrics.intervals import Interval
from pdjax.metrics.ratios import of_bounds, paired
from tests.metrics.queues import Queue, arrivals, times_in_system

QUEUES = (
    Queue(0.5, warmup=200, requests=1000),
    Queue(0.8, warmup=500, requests=2000),
    Queue(0.9, warmup=1000, requests=3000),
)
TRIALS, SEEDS = 300, 8


def means(queue, gaps, rng):
  times = times_in_system(queue, gaps, rng)
  return dict(enumerate(times.mean(axis=1).tolist()))


@pytest.mark.parametrize("queue", QUEUES, ids=lambda q: str(q.utilisation))
def test_identical_strategies_are_not_significant(queue):
  # The same arrivals, and service times that are drawn alike.
  rng = np.random.default_rng(5)
  significant = 0
  for _ in range(TRIALS):
    gaps = arrivals(queue, SEEDS, rng)
    pair = [means(queue, gaps, rng) for _ in range(2)]
    significant += paired(*pair).significant
  assert abs(significant / TRIALS - 0.05) < 4 * (0.05 * 0.95 / TRIALS) ** 0.5


def test_pairing_takes_out_what_the_seeds_share():
  base = {seed: 10.0 * (seed + 1) for seed in range(8)}
  ratio = paired({s: 1.1 * v + 0.01 * s for s, v in base.items()}, base)
  assert ratio.significant and ratio.interval.estimate == pytest.approx(
      1.1, abs=0.01
  )
  assert str(ratio).startswith("1.10x [1.10, 1.10]")


def test_equal_runs_are_a_ratio_of_one():
  same = {0: 3.0, 1: 4.0}
  assert not paired(same, same).significant
  assert str(paired(same, same)) == "1.00x [1.00, 1.00], not significant"


def test_only_common_seeds_count():
  ratio = paired({0: 2.0, 1: 2.0, 5: 9.0}, {0: 1.0, 1: 1.0, 7: 9.0})
  assert ratio.seeds == (0, 1) and ratio.interval.estimate == 2


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [({}, {}), ({0: 1.0}, {1: 1.0}), ({0: 1.0}, {0: 0.0}), ({0: 0.0}, {0: 1.0})]
)
def test_without_a_base_or_bounds_nothing_is_significant(ours, theirs):
  ratio = paired(ours, theirs)
  assert not ratio.significant and ratio.interval.low is None


def bounded(estimate, low, high):
  return Interval(
      estimate=estimate, low=low, high=high, method="given", samples=10
  )


def test_bounds_of_two_runs_combine_as_independent_ones():
  # By hand: reaches of log 1.1 both, so log 1.1 times the root of 2.
  found = of_bounds(bounded(3.0, 3 / 1.1, 3.3), bounded(2.0, 2 / 1.1, 2.2))
  reach = 1.1 ** 2**0.5
  assert found.interval.estimate == pytest.approx(1.5)
  assert found.interval.low == pytest.approx(1.5 / reach)
  assert found.interval.high == pytest.approx(1.5 * reach)


def test_bounds_that_are_lopsided_stay_so():
  # What pulls the denominator up pulls the ratio down.
  found = of_bounds(bounded(1.0, 1.0, 1.0), bounded(1.0, 1.0, 2.0))
  assert found.interval.low == pytest.approx(0.5)
  assert found.interval.high == pytest.approx(1.0)


def test_without_bounds_there_is_no_interval():
  for ours in (bounded(1.0, None, None), bounded(1.0, 0.0, 2.0)):
    found = of_bounds(ours, bounded(2.0, 1.9, 2.1))
    assert found.interval.estimate == 0.5 and not found.significant
    assert found.interval.low is None
  assert of_bounds(ours, bounded(0.0, 0.0, 0.0)).interval.estimate is None
