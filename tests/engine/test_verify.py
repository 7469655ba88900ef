"""The check of tokens can fail, and counts what it does."""

import jax.numpy as jnp
import numpy as np

from pdjax.engine.sampling import Scores
from pdjax.engine.verify import _check


def found(exact_SV, token_S, wide_SV=None, sure_SV=None):
  parts = (exact_SV, wide_SV or exact_SV, sure_SV or exact_SV)
  one = _check(Scores(*map(jnp.float32, parts)), np.array(token_S))
  return one.checked, one.equal, one.ties, one.different


def test_counts_by_hand():
  """Equal, a tie, different."""
  scores = [[0.0, 1.0], [1.0, 1.0 + 1e-6], [0.0, 1.0]]
  assert found(scores, [1, 0, 0]) == (3, 1, 1, 1)


def test_what_may_be_above_or_under_the_floor_is_a_tie():
  """Token 1 is just above the floor, 2 just under it, 3 far below."""
  under = -np.inf
  exact = [[0.0, 1.0, under, under]] * 4
  wide = [[0.0, 1.0, 2.0, under]] * 4
  sure = [[0.0, under, under, under]] * 4
  assert found(exact, [0, 1, 2, 3], wide, sure) == (4, 1, 2, 1)


def test_no_scores_make_no_token_right():
  """Not the first token either, which an argmax over NaN gives."""
  lost = [[np.nan, np.nan]]
  assert found(lost + [[1.0, 0.0]], [0, 0]) == (2, 1, 0, 1)
