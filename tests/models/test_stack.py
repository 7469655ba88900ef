"""Layers scanned and layers apart are the same model."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pdjax.models import stack, transformer
from tests.models.paged_session import PagedSession, load

TOKENS = np.random.default_rng(0).integers(0, 256, 30).tolist()


@pytest.fixture(name="both")
def _both(monkeypatch):
  apart = load()
  monkeypatch.setattr(stack, "lie_apart", lambda mesh: False)
  scanned = load.__wrapped__()
  assert apart.stack.apart and not scanned.stack.apart
  return apart, scanned


def _paged(model):
  session = PagedSession(model)
  session.prefill(TOKENS[:-1], chunk=16)
  return session.step(decode=[(0, TOKENS[-1])])


def test_scanned_layers_give_the_same(both):
  tokens = jnp.array(TOKENS, jnp.int32)
  with jax.default_matmul_precision("highest"):
    for run in (lambda m: transformer.plain_forward(m, tokens), _paged):
      np.testing.assert_allclose(*map(run, both), atol=1e-4)


def test_apart_layers_are_the_stacked_ones(both):
  apart, scanned = both
  for number, block in enumerate(apart.stack.blocks):
    np.testing.assert_array_equal(
        block.o_NHD[...], scanned.stack.stacked.o_NHD[...][number]
    )
