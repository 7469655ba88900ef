"""Random weights, and the refusals of `weights.load`."""

import jax
import numpy as np
import pytest

from pdjax import config
from pdjax import mesh as meshes
from pdjax.models import presets, weights
from pdjax.models.drawn import Drawn
from pdjax.models.weight import Weight
from tests.models.paged_session import load


def _leaves(model):
  from flax import nnx

  return jax.tree.leaves(nnx.split(model)[1])


@pytest.mark.parametrize("tp", [2, 4])
def test_random_weights_do_not_depend_on_the_mesh(tp):
  copies = max(1, tp // 2)
  pairs = list(zip(_leaves(load()), _leaves(load(tp=tp)), strict=True))
  assert sum(one.size for one, _ in pairs) == presets.preset("tiny").num_params
  for one, many in pairs:
    if one.shape != many.shape:
      many = many[:, ::copies]
    np.testing.assert_array_equal(one, many)


def test_weights_are_split_as_declared():
  for block in load(tp=2).stack.blocks:
    assert block.q_DNH[...].sharding.shard_shape((64, 4, 16))[1] == 2
    assert block.mlp.down_FD[...].sharding.shard_shape((96, 64))[0] == 48


def test_seed_and_name_change_the_numbers():
  def draw(name, seed):
    weight = Weight(
        name=name, shape=(64, 32), axes=("embed", "ffn"), fan_in=64
    )
    return Drawn(seed).layer(weight, 0)

  base = draw("up", 0)
  np.testing.assert_array_equal(base, draw("up", 0))
  assert not np.array_equal(base, draw("up", 1))
  assert not np.array_equal(base, draw("gate", 0))
  assert abs(base.std() * 8 - 1) < 0.05


def test_bfloat16_model():
  model = config.Model(preset="tiny", dtype="bfloat16")
  mesh = meshes.make_mesh(jax.devices(), 1)
  loaded = weights.load(model, presets.preset("tiny"), mesh)
  assert {leaf.dtype.name for leaf in _leaves(loaded)} == {"bfloat16"}


@pytest.mark.parametrize("preset, tp, words", [
    ("tiny", 3, "tp=3 does not fit the 2 kv heads"),
    ("tiny", 8, "tp=8 does not divide the query heads 4"),
    ("deepseek-v3", 1, "latent attention, shared experts"),
])
def test_what_cannot_run_is_one_line(preset, tp, words):
  mesh = meshes.make_mesh(jax.devices(), tp)
  with pytest.raises(config.ConfigError) as error:
    weights.load(config.Model(preset=preset), presets.preset(preset), mesh)
  (line,) = error.value.errors
  assert words in line


def test_missing_and_broken_files_are_one_line(tmp_path):
  spec, mesh = presets.preset("tiny"), meshes.make_mesh(jax.devices(), 1)
  broken = tmp_path / "broken.gguf"
  broken.write_bytes(b"GGUX" + bytes(100))
  cases = (tmp_path / "none", "no such file"), (broken, "no GGUF file")
  for path, words in cases:
    with pytest.raises(config.ConfigError, match=words) as error:
      weights.load(
          config.Model(preset="tiny", weights=str(path)), spec, mesh
      )
    assert len(error.value.errors) == 1
