"""The check of tokens can fail, and counts what it does."""

import numpy as np

from pdjax.engine.verify import _check

SCORES = np.array([[0.0, 1.0], [1.0, 1.0 + 1e-6], [0.0, 1.0]], np.float32)


def test_counts_by_hand():
  """Equal, a tie, different."""
  found = _check(SCORES, np.array([1, 0, 0]))
  assert (found.checked, found.equal, found.ties, found.different) == (
      3, 1, 1, 1,
  )
