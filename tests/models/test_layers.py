"""Formulas of a layer against numpy, and what XLA makes of them."""

import jax
import numpy as np
import pytest

from pdjax.models import layers

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("rows", [1, 2, layers.FEW_ROWS, layers.FEW_ROWS + 1])
@pytest.mark.parametrize("vocab", [512, 96, 33])
def test_logits_are_products_with_every_token(rows, vocab):
  y_SD = RNG.standard_normal((rows, 8), np.float32)
  head_VD = RNG.standard_normal((vocab, 8), np.float32)
  got = jax.jit(layers.logits_of)(y_SD, head_VD)
  np.testing.assert_allclose(got, y_SD @ head_VD.T, rtol=1e-4, atol=1e-5)


def test_a_head_is_not_laid_out_anew_for_few_rows():
  """The product comes out by tokens, so XLA has not turned it back."""
  y_SD, head_VD = np.ones((8, 64), np.float32), np.ones((512, 64), np.float32)
  program = jax.jit(layers.logits_of).lower(y_SD, head_VD).compile().as_text()
  (product,) = [line for line in program.splitlines() if " dot(" in line]
  assert "f32[512,8]" in product
