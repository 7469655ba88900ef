"""The page pool: its sizes, and bit-exact copies between pools."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pdjax import kv
from pdjax import mesh as meshes

PAGES = np.array([5, 1, 3], np.int32)


def _config(tp=1, **more):
  sizes = dict(
      num_layers=2, num_kv_heads=2, head_dim=16, num_pages=8, page_tokens=4
  )
  return kv.KVPoolConfig(tp=tp, **(sizes | more))


def _pool(tp, first=0, seed=None):
  """A pool of random bits, or empty; copies of a head are equal."""
  config = _config(tp)
  mesh = meshes.make_mesh(jax.devices()[first:], tp)
  pool = kv.new_pool(config, mesh)
  if seed is None:
    return pool, mesh
  shape = _config().shape
  bits = np.random.default_rng(seed).standard_normal(shape, np.float32)
  bits = bits.repeat(config.head_copies, axis=3)
  return jax.device_put(bits, kv.pool_sharding(mesh)), mesh


def test_sizes_by_hand():
  config = _config()
  assert config.shape == (2, 8, 2, 2, 4, 16)
  # Two layers of keys and values: 2 heads of 4 cells of 16 floats.
  assert config.page_bytes == 2 * 2 * 2 * 4 * 16 * 4
  assert config.pool_bytes == 8 * config.page_bytes
  assert _config(dtype="bfloat16").page_bytes == config.page_bytes // 2


@pytest.mark.parametrize("tp, copies", [(1, 1), (2, 1), (4, 2), (8, 4)])
def test_heads_are_copied_when_devices_outnumber_them(tp, copies):
  config = _config(tp)
  assert config.head_copies == copies
  assert config.pool_bytes == copies * _config().pool_bytes
  pool, _ = _pool(tp)
  assert pool.shape == config.shape
  assert pool.addressable_shards[0].data.shape[3] == config.shape[3] // tp


def test_wrong_sizes_are_refused():
  with pytest.raises(ValueError, match="sentinel"):
    _config(num_pages=1)
  with pytest.raises(ValueError, match="does not fit"):
    _config(tp=3)
  with pytest.raises(ValueError, match="mesh of 1"):
    kv.new_pool(_config(2), meshes.make_mesh(jax.devices(), 1))


@pytest.mark.parametrize("source", [1, 2, 4])
@pytest.mark.parametrize("target", [1, 2, 4])
def test_pages_arrive_bit_exact_on_another_mesh(source, target):
  pool, _ = _pool(source, seed=0)
  other, mesh = _pool(target, first=4)
  staging = jax.jit(kv.gather_pages)(pool, PAGES)
  where = kv.staging_sharding(mesh, staging.shape[3])
  scatter = jax.jit(
      kv.scatter_pages, donate_argnums=0, out_shardings=kv.pool_sharding(mesh)
  )
  landed = jnp.array([2, 7, 4], jnp.int32)
  other = scatter(other, jax.device_put(staging, where), landed)
  assert other.sharding == kv.pool_sharding(mesh)
  want = np.asarray(pool)[:, :, :, :: max(1, source // 2)]
  got = np.asarray(other)[:, :, :, :: max(1, target // 2)]
  np.testing.assert_array_equal(got[:, landed], want[:, PAGES])
  untouched = [0, 1, 3, 5, 6]
  assert not got[:, untouched].any()


def test_copies_of_heads_survive_any_ratio():
  """Six physical heads (three copies each) into four (two each)."""
  heads = np.array([0, 0, 0, 1, 1, 1], np.float32)
  staging = jnp.broadcast_to(
      heads[None, None, None, :, None, None], (2, 3, 2, 6, 4, 16)
  )
  pool = jnp.zeros((2, 8, 2, 4, 4, 16))
  pool = kv.scatter_pages(pool, staging, PAGES)
  np.testing.assert_array_equal(pool[0, 5, 0, :, 0, 0], [0, 0, 1, 1])


def test_padding_of_a_bucket_lands_in_the_sentinel():
  pool, _ = _pool(1, seed=0)
  other, _ = _pool(1)
  padded = np.array([5, 1, 0, 0], np.int32)
  other = kv.scatter_pages(other, kv.gather_pages(pool, padded), padded)
  assert not np.asarray(other)[:, [2, 3, 4, 6, 7]].any()
  np.testing.assert_array_equal(other[:, 5], pool[:, 5])


def test_batch_is_a_pytree_of_nine_arrays():
  row = jnp.zeros(3, jnp.int32)
  table = jnp.zeros((2, 4), jnp.int32)
  batch = kv.Batch(
      token_T=row, position_T=row, page_T=row, cell_T=row,
      decode_page_BM=table, decode_length_B=row[:2], chunk_page_RM=table,
      chunk_row_U=row[:1], logit_S=row,
  )
  assert batch.num_decodes == 2
  assert len(jax.tree.leaves(batch)) == 9
