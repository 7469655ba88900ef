"""`kv_write` of TPU in interpret mode: bit for bit what the reference does."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pdjax_kernels import pages
from pdjax_kernels.kv_write import reference, tpu
from pdjax_kernels.kv_write.blocks import TpuBlocks

C, SENTINEL = 16, 0
RUNS = (
    # (page, first cell, tokens): decodes, padding, chunks, padding.
    (1, 4, 1), (2, 15, 1), (SENTINEL, 0, 2), (9, 0, 1), (3, 3, 13), (4, 0, 16),
    (5, 0, 2), (6, 7, 1), (7, 8, 8), (8, 0, 16), (SENTINEL, 0, 5),
)
PAGE_T = np.repeat([page for page, _, _ in RUNS], [n for _, _, n in RUNS])
CELL_T = np.concatenate([np.arange(a, a + n) for _, a, n in RUNS]) % C

TOKENS = len(PAGE_T)


@functools.cache
def _kernel(blocks):
  return jax.jit(functools.partial(
      tpu.kv_write, blocks=blocks, interpret=True
  ))


def _problem(dtype, *, H=128, packed=False, tokens=TOKENS):
  rng = np.random.default_rng(0)
  kv = jnp.asarray(rng.normal(0, 10, (11, 2, 2, C, H)), jnp.float32)
  kv = kv.astype(dtype)
  k_TKH, v_TKH = (
      jnp.asarray(rng.normal(0, 10, (tokens, 2, H)), jnp.float32)
      for _ in range(2)
  )
  return pages.pack(kv) if packed else kv, k_TKH, v_TKH


def _check(blocks, kv, k_TKH, v_TKH):
  tokens = len(k_TKH)
  page_T, cell_T = (x[:tokens].astype(np.int32) for x in (PAGE_T, CELL_T))
  got = _kernel(blocks)(kv, k_TKH, v_TKH, page_T, cell_T)
  want = reference.kv_write(kv, k_TKH, v_TKH, page_T, cell_T)
  assert got.dtype == want.dtype
  got, want = (
      np.delete(np.asarray(x), SENTINEL, axis=0).view(np.uint8)
      for x in (got, want)
  )
  np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [
    "float32", "bfloat16", "int8", "float8_e4m3fn",
])
def test_bits_of_the_reference(dtype):
  _check(TpuBlocks(), *_problem(dtype))


def test_head_64_packed():
  _check(TpuBlocks(), *_problem("bfloat16", H=64, packed=True))


@pytest.mark.parametrize("blocks", [
    TpuBlocks(tokens=8, strips=2), TpuBlocks(tokens=5, strips=3),
], ids=str)
def test_block_size_changes_nothing(blocks):
  """Strips that go on in the next program, and a last program half full."""
  _check(blocks, *_problem("float32"))


def test_one_token():
  _check(TpuBlocks(), *_problem("float32", tokens=1))


def test_tokens_next_to_nan_stay():
  """A strip's other cells come back as they were, NaN too."""
  kv, k_TKH, v_TKH = _problem("bfloat16")
  _check(TpuBlocks(), kv.at[:, :, :, 1::2].set(jnp.nan), k_TKH, v_TKH)
