"""Which kernels a pass calls, read off its trace."""

import dataclasses

import jax
import pytest
from jax.experimental import pallas as pl

from pdjax import config
from pdjax import mesh as meshes
from pdjax.engine import packing, setup
from pdjax.engine.kernels import kernels_of
from pdjax.models.sizes import spec_of
from pdjax.models.transformer import Transformer
from tests.engine.engine_session import run_of


def programs():
  """Of a tiny model on one device; shapes in the place of weights."""
  run = run_of("1C", "chunked", chunk_size=32)
  run = dataclasses.replace(
      run, engine=config.Engine(kernels="pallas_interpret")
  )
  spec, mesh = spec_of(run.model), meshes.make_mesh(jax.devices(), 1)
  model = Transformer(
      spec, mesh,
      lambda weight: jax.ShapeDtypeStruct(weight.shape, run.model.dtype),
      kernels_of(run, spec, mesh),
  )
  return setup.programs_of(run, model, 2, 8, ())


@pytest.mark.parametrize("B, U, calls", [
    (4, 0, ["kv_write", "paged_decode"]),
    (0, 16, ["kv_write", "chunk_prefill"]),
    (4, 16, ["kv_write", "paged_decode", "chunk_prefill"]),
], ids=["decode", "prefill", "mixed"])
def test_a_mixed_pass_is_two_calls_of_attention(monkeypatch, B, U, calls):
  """In one program, once each: the scan over layers is traced once."""
  seen, real = [], pl.pallas_call

  def recorded(*args, name, **more):
    seen.append(name)
    return real(*args, name=name, **more)

  monkeypatch.setattr(pl, "pallas_call", recorded)
  made = programs()
  M = 3
  pool = jax.ShapeDtypeStruct(made.config.shape, made.config.dtype)
  rows = packing.rows_of((), B, M, made.sampling)
  chunks = packing.prompts_of((), U, M, made.R if U else 0, made.sampling)
  out = jax.eval_shape(
      made.passes.mixed, made.params, pool, packing.feed_of((), B), rows,
      chunks,
  )
  assert seen == calls
  assert out[0].shape == made.config.shape
