"""Length distributions: moments, bounds, and what a seed fixes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdjax.config import Lengths
from pdjax.workload.lengths import draw


def _rng(seed=0):
  return np.random.default_rng(seed)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32), st.floats(200, 5000), st.floats(0.0, 1.2))
def test_lognormal_has_the_mean_and_the_cv(seed, mean, cv):
  lengths = Lengths(kind="lognormal", mean=mean, cv=cv)
  tokens = draw(lengths, 50_000, _rng(seed)).tokens
  assert tokens.mean() == pytest.approx(mean, rel=0.04)
  assert tokens.std() / tokens.mean() == pytest.approx(cv, rel=0.2, abs=0.005)


@given(st.integers(1, 600), st.integers(0, 600))
def test_bounds_hold_and_cuts_are_counted(low, width):
  high = low + width
  free = Lengths(kind="lognormal", mean=300.0, cv=1.5)
  cut = Lengths(kind="lognormal", mean=300.0, cv=1.5, low=low, high=high)
  free_tokens = draw(free, 400, _rng()).tokens
  drawn = draw(cut, 400, _rng())
  assert drawn.tokens.tolist() == np.clip(free_tokens, low, high).tolist()
  assert drawn.cut_to_high == (free_tokens > high).sum()
  if low > 1:
    assert drawn.raised_to_low == (free_tokens < low).sum()


def test_never_below_one_token():
  drawn = draw(Lengths(kind="lognormal", mean=1.0, cv=5.0), 1000, _rng())
  assert drawn.tokens.min() == 1
  assert drawn.raised_to_low > 0


def test_fixed():
  drawn = draw(Lengths(mean=7.0), 3, _rng())
  assert drawn.tokens.tolist() == [7, 7, 7]


def test_empirical_draws_each_value_with_equal_chance():
  lengths = Lengths(kind="empirical", values=(5, 50, 500, 500))
  tokens = draw(lengths, 40_000, _rng()).tokens
  values, counts = np.unique(tokens, return_counts=True)
  assert values.tolist() == [5, 50, 500]
  assert counts == pytest.approx([10_000, 10_000, 20_000], rel=0.05)


@pytest.mark.parametrize(
    "lengths",
    [
        Lengths(kind="lognormal", mean=90.0),
        Lengths(kind="empirical", values=(1, 2, 3, 4, 5, 6, 7)),
    ],
)
def test_a_longer_draw_begins_with_the_shorter_one(lengths):
  long = draw(lengths, 200, _rng()).tokens
  assert long[:60].tolist() == draw(lengths, 60, _rng()).tokens.tolist()
