"""Arrival processes: rate, spread, and what a seed fixes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdjax.config import ConfigError
from pdjax.workload import arrivals
from pdjax.workload.arrivals import PS_PER_S

seeds = st.integers(0, 2**32)
rates = st.floats(0.01, 1e4)


def _rng(seed):
  return np.random.default_rng(seed)


def _gaps_s(arrival_ps):
  return np.diff(arrival_ps) / PS_PER_S


@settings(deadline=None, max_examples=25)
@given(seeds, rates)
def test_poisson_has_the_rate_and_cv_1(seed, rate):
  # 20,000 gaps: the mean is off by 1/sqrt(20000) = 0.7 % (one sigma).
  gaps_s = _gaps_s(arrivals.poisson(20_001, rate, _rng(seed)))
  assert gaps_s.mean() * rate == pytest.approx(1, rel=0.05)
  assert gaps_s.std() / gaps_s.mean() == pytest.approx(1, rel=0.1)


@settings(deadline=None, max_examples=25)
@given(seeds, rates, st.floats(0.2, 2.0))
def test_gamma_has_the_rate_and_the_cv(seed, rate, cv):
  gaps_s = _gaps_s(arrivals.gamma(40_001, rate, cv, _rng(seed)))
  assert gaps_s.mean() * rate == pytest.approx(1, rel=0.06)
  assert gaps_s.std() / gaps_s.mean() == pytest.approx(cv, rel=0.15)


@given(seeds, st.integers(1, 50), st.integers(0, 50))
def test_a_longer_run_begins_with_the_shorter_one(seed, count, more):
  for draw in (
      lambda n: arrivals.poisson(n, 3.0, _rng(seed)),
      lambda n: arrivals.gamma(n, 3.0, 1.7, _rng(seed)),
  ):
    assert (draw(count + more)[:count] == draw(count)).all()


@given(seeds)
def test_twice_the_rate_is_the_same_pattern_in_half_the_time(seed):
  slow = arrivals.gamma(100, 2.0, 1.5, _rng(seed))
  fast = arrivals.gamma(100, 4.0, 1.5, _rng(seed))
  assert np.abs(slow - 2 * fast).max() <= 2 * 100  # rounding, 1 ps a gap


@pytest.mark.parametrize(
    "arrival_ps",
    [
        arrivals.poisson(500, 7.0, _rng(3)),
        arrivals.gamma(500, 7.0, 3.0, _rng(3)),
        arrivals.constant(500, 7.0),
        arrivals.all_at_once(500),
    ],
)
def test_integer_picoseconds_from_0_in_order(arrival_ps):
  assert arrival_ps.dtype == np.int64
  assert arrival_ps.shape == (500,)
  assert arrival_ps[0] == 0
  assert (np.diff(arrival_ps) >= 0).all()


def test_constant_by_hand():
  # 4 a second: a quarter of 10^12 ps between two.
  assert arrivals.constant(3, 4.0).tolist() == [0, 250 * 10**9, 500 * 10**9]


def test_one_request_arrives_at_0():
  assert arrivals.poisson(1, 1.0, _rng(0)).tolist() == [0]
  assert arrivals.all_at_once(1).tolist() == [0]


def test_times_beyond_the_clock_are_one_line():
  with pytest.raises(ConfigError, match="workload.rate=1e-06.*limit") as error:
    arrivals.constant(1000, 1e-6)
  assert len(error.value.errors) == 1


def test_gamma_of_cv_1_is_poisson():
  poisson = arrivals.poisson(2000, 5.0, _rng(1))
  gamma = arrivals.gamma(2000, 5.0, 1.0, _rng(1))
  # One law; NumPy draws it alike, but only the law is ours to promise.
  assert np.diff(gamma).std() == pytest.approx(np.diff(poisson).std(), rel=0.2)
