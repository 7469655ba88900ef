"""`kv_write` of TPU in interpret mode: bit for bit what the reference does."""

import jax.numpy as jnp
import numpy as np
import pytest
from pdjax_kernels import pages
from pdjax_kernels.kv_write import reference, tpu
from pdjax_kernels.kv_write.blocks import TpuBlocks

from tests.kernels.problems import jitted

C, SENTINEL = 16, 0
RUNS = (
    # (page, first cell, tokens): decodes, padding, chunks, padding.
    (1, 4, 1), (2, 15, 1), (SENTINEL, 0, 2), (9, 0, 1), (3, 3, 13), (4, 0, 16),
    (5, 0, 2), (6, 7, 1), (7, 8, 8), (8, 0, 16), (SENTINEL, 0, 5),
)
PAGE_T = np.repeat([page for page, _, _ in RUNS], [n for _, _, n in RUNS])
CELL_T = np.concatenate([np.arange(a, a + n) for _, a, n in RUNS]) % C

TOKENS = len(PAGE_T)


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
  problem = kv, k_TKH, v_TKH, page_T, cell_T
  got = jitted(tpu.kv_write, blocks=blocks, interpret=True)(*problem)
  want = jitted(reference.kv_write)(*problem)
  assert got.dtype == want.dtype
  got, want = (
      np.delete(np.asarray(x), SENTINEL, axis=0).view(np.uint8)
      for x in (got, want)
  )
  np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype, blocks", [
    ("float32", TpuBlocks()),
    ("float32", TpuBlocks(tokens=8, strips=2)),
    ("int8", TpuBlocks()),
    ("float8_e4m3fn", TpuBlocks(tokens=5, strips=3)),
], ids=str)
def test_bits_of_the_reference(dtype, blocks):
  """Also strips that go on in the next program, and a last one half full."""
  _check(blocks, *_problem(dtype))


@pytest.mark.parametrize("packed", [False, True], ids=["pair", "packed"])
def test_tokens_next_to_nan_stay(packed):
  """A strip's other cells come back as they were, NaN too."""
  H = 64 if packed else 128
  kv, k_TKH, v_TKH = _problem("bfloat16", H=H, packed=packed)
  _check(TpuBlocks(), kv.at[:, :, :, 1::2].set(jnp.nan), k_TKH, v_TKH)


def test_one_token():
  _check(TpuBlocks(), *_problem("float32", tokens=1))
