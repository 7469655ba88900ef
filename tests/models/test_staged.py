"""A pass in stages is the pass, wherever the layers' weights lie."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pdjax import config
from pdjax import mesh as meshes
from pdjax.models import presets, stack, weights
from pdjax.models.staged import Staged
from tests.models.paged_session import PagedSession, load


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("tp", [1, 2])
def test_stages_give_the_same_logits_and_pages(monkeypatch, apart, tp):
  monkeypatch.setattr(stack, "lie_apart", lambda mesh: apart)
  mesh = meshes.make_mesh(jax.devices(), tp)
  model = weights.load(
      config.Model(preset="tiny", dtype="float32"), presets.preset("tiny"), mesh
  )
  session = PagedSession(model)
  kept = {}

  def noted(rows, decodes, pad, tables, chunk_row, last):
    kept["batch"] = batch(rows, decodes, pad, tables, chunk_row, last)
    return kept["batch"]

  batch, session._batch = session._batch, noted
  empty = session.pool + 0
  logits = session.step(prefill=[(0, [5, 6, 7, 8, 9, 10, 11, 12, 13])])
  staged, params = Staged(model, 1), nnx.split(model)[1]
  pool, x_TD = empty, staged.begin(params, kept["batch"].token_T)
  stage = jax.jit(staged.stage)
  for own, first in zip(
      staged.weights(params), staged.first_layers, strict=True
  ):
    x_TD, pool = stage(own, kept["batch"], pool, x_TD, jnp.int32(first))
  again = staged.end(params, x_TD[kept["batch"].logit_S])
  np.testing.assert_allclose(again, logits, atol=2e-6)
  np.testing.assert_allclose(pool, session.pool, atol=2e-6)


def test_stages_must_be_equal():
  model = load("tiny")
  with pytest.raises(ValueError, match="does not divide"):
    Staged(model, 3)
