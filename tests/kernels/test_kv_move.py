"""`kv_move` of TPU in interpret mode."""

import jax.numpy as jnp
import numpy as np
import pytest
from pdjax_kernels import pages
from pdjax_kernels.kv_move import reference, tpu
from pdjax_kernels.kv_move.blocks import TpuBlocks
from pdjax_kernels.kv_write.reference import kv_write

from tests.kernels.problems import jitted

PLAIN = {"interpret": True}
PAGE_M = np.array([3, 1, 7, 8, 2], np.int32)


def _cache(dtype="bfloat16", packed=False):
  rng = np.random.default_rng(0)
  H = 64 if packed else 128
  kv = jnp.asarray(rng.standard_normal((9, 2, 2, 8, H)), jnp.float32)
  return pages.pack(kv.astype(dtype)) if packed else kv.astype(dtype)


@pytest.mark.parametrize("pages_ahead", [1, 2, 16])
def test_gather_and_scatter(pages_ahead):
  kv, how = _cache(), {"blocks": TpuBlocks(pages=pages_ahead), **PLAIN}
  staging = jitted(tpu.gather_pages, **how)(kv, PAGE_M)
  np.testing.assert_array_equal(staging, np.asarray(kv)[PAGE_M])
  empty = jnp.zeros_like(kv)
  back = jitted(tpu.scatter_pages, **how)(empty, staging, PAGE_M)
  want = jitted(reference.scatter_pages)(empty, staging, PAGE_M)
  np.testing.assert_array_equal(back, want)


def test_gather_of_what_was_written_is_exact():
  """Written cell by cell, read page by page: bit for bit."""
  rng = np.random.default_rng(1)
  k_TKH, v_TKH = (
      jnp.asarray(rng.standard_normal((16, 2, 128)), jnp.bfloat16)
      for _ in range(2)
  )
  page_T = np.repeat([4, 6], 8).astype(np.int32)
  kv = jitted(kv_write)(
      _cache(), k_TKH, v_TKH, page_T, np.arange(16, dtype=np.int32) % 8
  )
  page_M = np.array([4, 6, 6, 4, 6], np.int32)
  staging = jitted(tpu.gather_pages, blocks=TpuBlocks(pages=2), **PLAIN)(
      kv, page_M
  )[:2]
  for side, x_TKH in enumerate((k_TKH, v_TKH)):
    got_TKH = staging[:, side].swapaxes(1, 2).reshape(16, 2, 128)
    np.testing.assert_array_equal(
        np.asarray(got_TKH).view(np.uint16), np.asarray(x_TKH).view(np.uint16)
    )


@pytest.mark.parametrize("packed", [False, True], ids=["pair", "packed"])
def test_int8_rounds_as_the_reference(packed):
  kv = _cache(packed=packed)
  payload, scale = jitted(tpu.gather_int8, **PLAIN)(kv, PAGE_M)
  want_payload, want_scale = jitted(reference.gather_int8)(kv, PAGE_M)
  assert payload.dtype == jnp.int8
  np.testing.assert_array_equal(payload, want_payload)
  np.testing.assert_allclose(scale, want_scale, rtol=1e-6)
  staged = jnp.zeros_like(kv), payload, scale, PAGE_M
  back = jitted(tpu.scatter_int8, **PLAIN)(*staged)
  want = jitted(reference.scatter_int8)(*staged)
  np.testing.assert_array_equal(back, want)


def test_int8_is_near():
  """Half a step of 1/127 of the largest value of the token's head."""
  kv = _cache("float32")
  payload, scale = jitted(reference.gather_int8)(kv, PAGE_M)
  back = jitted(reference.scatter_int8)(
      jnp.zeros_like(kv), payload, scale, PAGE_M
  )
  error = np.abs(np.asarray(back[PAGE_M] - kv[PAGE_M]))
  assert np.all(error <= 0.5001 * np.asarray(scale)[..., None])


def test_int8_of_zeros_is_zero():
  payload, scale = jitted(reference.gather_int8)(
      jnp.zeros((9, 2, 2, 8, 128), jnp.float32), PAGE_M
  )
  assert not np.any(payload) and not np.any(scale)
