"""Fits find the law they were drawn from, and say where another misses."""

import numpy as np
import pytest

from pdjax.workload.fits import fits_of


def fitted(tokens):
  return {fit.name: fit for fit in fits_of(tokens)}


def test_a_law_is_found_again():
  rng = np.random.default_rng(0)
  lengths = 1 + np.rint(rng.lognormal(6.0, 0.8, 50_000))
  law = fitted(lengths)["lognormal"]
  assert law.parameters["mean"] == pytest.approx(
      np.exp(6.0 + 0.8**2 / 2), rel=0.02
  )
  assert law.parameters["cv"] == pytest.approx(
      np.expm1(0.8**2) ** 0.5, rel=0.03
  )
  assert not law.misses_tail(lengths)
  drawn = 1 + np.rint(rng.gamma(2.0, 300.0, 50_000))
  law = fitted(drawn)["gamma"]
  assert law.parameters["cv"] == pytest.approx(2**-0.5, rel=0.03)
  assert not law.misses_tail(drawn)


def test_a_heavy_tail_is_missed_by_a_light_law():
  rng = np.random.default_rng(0)
  lengths = 1 + np.rint(rng.lognormal(6.0, 1.5, 20_000))
  gamma = fitted(lengths)["gamma"]
  assert gamma.misses_tail(lengths) and gamma.off(lengths) < 0


def test_equal_lengths_have_no_law():
  assert fits_of(np.full(10, 7)) == []


def test_lengths_that_hardly_vary_have_no_fit():
  assert fits_of(np.array([10**9, 10**9 - 1] * 150)) == []
  assert len(fits_of(np.array([1000, 1001] * 150))) == 2
