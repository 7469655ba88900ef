"""MSER-5 finds the end of a transient, and says when there is no rest."""

import numpy as np

from pdjax.metrics.warmup import mser5


def test_a_transient_is_dropped():
  rng = np.random.default_rng(0)
  decay = 5 * np.exp(-np.arange(2000) / 100)
  assert 100 < mser5(decay + rng.standard_normal(2000)) < 400


def test_nothing_to_drop_from_what_is_steady():
  rng = np.random.default_rng(0)
  cuts = [mser5(rng.standard_normal(2000)) for _ in range(50)]
  assert sum(cut is not None and cut < 200 for cut in cuts) > 35


def test_what_never_settles_has_no_rest():
  assert mser5(np.arange(1000.0)) is None
  assert mser5(np.arange(4.0)) is None
