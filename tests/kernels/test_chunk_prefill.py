"""`chunk_prefill` of TPU in interpret mode, against its reference and laws."""

import jax
import numpy as np
import pytest
from pdjax_kernels import xla
from pdjax_kernels.chunk_prefill import reference, tpu
from pdjax_kernels.chunk_prefill.blocks import TpuBlocks, tpu_blocks
from pdjax_kernels.paged_decode import tpu as decode_tpu
from pdjax_kernels.spec import Spec

from tests.kernels.problems import (
    SCALE,
    Shape,
    cache,
    close,
    gathered,
    jitted,
    packed_tokens,
    queries,
    table,
)

BLOCKS = TpuBlocks(tokens=8, pages=2, heads=1)
CHUNKS = ((31, 9), (0, 9), (13, 4), (7, 1), (0, 8))
"""(first position, tokens) of each row: mid-page, from the start, one token."""
TOKENS = (*CHUNKS[:2], (None, 3), *CHUNKS[2:], (None, 2))
"""With padding between and at the end."""


def _kernel(blocks=BLOCKS, **features):
  return jitted(
      tpu.chunk_prefill, scale=SCALE, interpret=True, blocks=blocks, **features
  )


def _reference(**features):
  return jitted(reference.chunk_prefill, scale=SCALE, **features)


def _problem(shape: Shape):
  row_U, position_U = packed_tokens(TOKENS)
  page_RM = table(shape, len(CHUNKS))
  ends = [min(first + n, shape.M * shape.C) for first, n in CHUNKS]
  kv = cache(shape, page_RM, ends)
  return queries(shape, len(row_U)), kv, page_RM, row_U, position_U


def _check(shape: Shape, blocks=BLOCKS, **features):
  problem = _problem(shape)
  got = _kernel(blocks, **features)(*problem)
  want = _reference(**features)(*problem)
  assert got[0].dtype == shape.dtype
  close(got[0] * shape.step, want[0] * shape.step, shape.dtype)
  close(got[1], want[1], "float32")


CASES = {
    "grouped": (Shape(), {}),
    "multi_query_page_16_bfloat16": (
        Shape(N=4, K=1, C=16, M=3, dtype="bfloat16", kv_dtype="bfloat16"),
        {"window": 11, "soft_cap": 2.0},
    ),
    "multi_head_64_packed": (
        Shape(N=2, K=2, H=64, packed=True), {"window": 1},
    ),
    "head_256_float8_cache": (
        Shape(H=256, K=1, dtype="bfloat16", kv_dtype="float8_e4m3fn"), {},
    ),
    "int8_cache": (
        Shape(dtype="bfloat16", kv_dtype="int8"), {"soft_cap": 2.0}
    ),
}


@pytest.mark.parametrize("shape, features", CASES.values(), ids=CASES)
def test_agrees_with_the_reference(shape, features):
  _check(shape, **features)


@pytest.mark.parametrize("blocks", [
    TpuBlocks(tokens=32, pages=5, heads=2),
    TpuBlocks(tokens=4, pages=1, heads=2),
], ids=["large", "small"])
def test_block_size_changes_nothing(blocks):
  _check(Shape(), blocks, window=11)


def test_plain_xla_has_the_same_contract():
  problem = _problem(Shape())
  got = jitted(xla.chunk_prefill, scale=SCALE, window=11)(*problem)
  want = _reference(window=11)(*problem)
  close(got[0], want[0], "float32")
  close(got[1], want[1], "float32")


def test_a_decode_is_the_last_row_of_a_prefill():
  q_UNH, kv, page_RM, row_U, position_U = problem = _problem(Shape())
  out_UNH, lse_UN = _kernel()(*problem)
  last_R = np.array([np.flatnonzero(row_U == r)[-1] for r in range(5)])
  decode = jitted(decode_tpu.paged_decode, scale=SCALE, interpret=True)
  out_RNH, lse_RN = decode(
      q_UNH[last_R], kv, page_RM, position_U[last_R] + 1
  )
  close(out_UNH[last_R], out_RNH, "float32")
  close(lse_UN[last_R], lse_RN, "float32")


@pytest.mark.parametrize("split", [1, 5, 8])
def test_where_a_chunk_is_cut_changes_nothing(split):
  """The first row's chunk as two rows of one page table, as two steps would."""
  q_UNH, kv, page_RM, row_U, position_U = problem = _problem(Shape())
  whole = _kernel()(*problem)[0]
  cut_U = np.where((row_U == 1) & (position_U >= split), 2, row_U)
  cut_U = np.where(row_U > 1, -1, cut_U)
  page_RM = page_RM[[0, 1, 1, 3, 4]]
  parts = _kernel()(q_UNH, kv, page_RM, cut_U.astype(np.int32), position_U)[0]
  close(parts[row_U == 1], whole[row_U == 1], "float32")


def test_where_pages_live_changes_nothing():
  q_UNH, kv, page_RM, row_U, position_U = problem = _problem(Shape())
  order = np.random.default_rng(5).permutation(len(kv)).astype(np.int32)
  moved = np.empty_like(kv)
  moved[order] = kv
  after = _kernel()(q_UNH, moved, order[page_RM], row_U, position_U)
  np.testing.assert_array_equal(_kernel()(*problem)[0], after[0])


def test_against_attention_that_is_not_ours():
  """Each row by itself, its queries at their places in a causal whole."""
  q_UNH, kv, page_RM, row_U, position_U = problem = _problem(Shape())
  out_UNH, _ = _kernel()(*problem)
  k_RSKH, v_RSKH = gathered(kv, page_RM)
  R, S = k_RSKH.shape[:2]
  q_RSNH = np.zeros((R, S, *q_UNH.shape[1:]), np.float32)
  live_U = row_U >= 0
  place = row_U[live_U], position_U[live_U]
  q_RSNH[place] = q_UNH[live_U]
  want_RSNH = jitted(
      jax.nn.dot_product_attention, scale=SCALE, is_causal=True
  )(q_RSNH, k_RSKH, v_RSKH)
  close(out_UNH[live_U], want_RSNH[place], "float32")


@pytest.mark.parametrize("heads", [(32, 8), (32, 32), (8, 1)])
def test_blocks_fit(heads):
  spec = Spec(
      num_heads=heads[0], num_kv_heads=heads[1], head_dim=256, page_tokens=128,
      dtype="float32", kv_dtype="float32",
  )
  blocks = tpu_blocks(spec)
  rows = blocks.tokens * spec.queries_per_kv_head
  assert heads[1] % blocks.heads == 0
  assert blocks.heads * rows * 4 * (256 + 256) <= 6 * 2**20
