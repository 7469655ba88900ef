"""`chunk_prefill` of TPU in interpret mode, against its reference and laws."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pdjax_kernels import pages, xla
from pdjax_kernels.chunk_prefill import reference, tpu
from pdjax_kernels.chunk_prefill.blocks import TpuBlocks, tpu_blocks
from pdjax_kernels.paged_decode import tpu as decode_tpu
from pdjax_kernels.spec import Spec

from tests.kernels.problems import SCALE, Shape, cache, close, queries, table

BLOCKS = TpuBlocks(tokens=8, pages=2, heads=1)
CHUNKS = ((31, 9), (0, 9), (13, 4), (7, 1), (0, 8))
"""(first position, tokens) of each row: mid-page, from the start, one token."""
PADDING = (3, 2)
"""Tokens between the second and third row, and at the end."""


@functools.cache
def _kernel(blocks=BLOCKS, **features):
  return jax.jit(functools.partial(
      tpu.chunk_prefill, scale=SCALE, interpret=True, blocks=blocks, **features
  ))


def _packed_tokens(chunks=CHUNKS) -> tuple[np.ndarray, np.ndarray]:
  """(row_U, position_U), always as many, so that one program serves."""
  parts = [
      np.stack([np.full(n, row), np.arange(first, first + n)])
      for row, (first, n) in enumerate(chunks)
  ]
  parts.insert(2, np.repeat([[-1], [0]], PADDING[0], axis=1))
  tokens = np.concatenate(parts, axis=1)
  total = sum(n for _, n in CHUNKS) + sum(PADDING)
  pad = np.repeat([[-1], [0]], total - tokens.shape[1], axis=1)
  row_U, position_U = np.concatenate([tokens, pad], axis=1).astype(np.int32)
  return row_U, position_U


def _problem(shape: Shape):
  row_U, position_U = _packed_tokens()
  page_RM = table(shape, len(CHUNKS))
  kv = cache(shape, page_RM, [first + n for first, n in CHUNKS])
  return queries(shape, len(row_U)), kv, page_RM, row_U, position_U


def _check(shape: Shape, blocks=BLOCKS, **features):
  problem = _problem(shape)
  got = _kernel(blocks, **features)(*problem)
  want = reference.chunk_prefill(*problem, scale=SCALE, **features)
  assert got[0].dtype == shape.dtype
  close(got[0] * shape.step, want[0] * shape.step, shape.dtype)
  close(got[1], want[1], "float32")


SHAPES = {
    "grouped": Shape(),
    "multi_query": Shape(N=4, K=1),
    "multi_head_64_packed": Shape(N=2, K=2, H=64, packed=True),
    "head_256_page_16": Shape(H=256, K=1, C=16, M=3),
    "bfloat16": Shape(dtype="bfloat16", kv_dtype="bfloat16"),
    "float8_cache": Shape(dtype="bfloat16", kv_dtype="float8_e4m3fn"),
    "int8_cache": Shape(dtype="bfloat16", kv_dtype="int8"),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_agrees_with_the_reference(shape):
  _check(shape)


@pytest.mark.parametrize("window", [1, 11])
def test_window_and_soft_cap(window):
  _check(Shape(), window=window, soft_cap=2.0)


@pytest.mark.parametrize("blocks", [
    TpuBlocks(tokens=32, pages=5, heads=2),
    TpuBlocks(tokens=4, pages=1, heads=2),
], ids=["large", "small"])
def test_block_size_changes_nothing(blocks):
  _check(Shape(), blocks)


def test_plain_xla_has_the_same_contract():
  shape = Shape()
  problem = _problem(shape)
  features = {"scale": SCALE, "window": 11, "soft_cap": 2.0}
  got = xla.chunk_prefill(*problem, **features)
  want = reference.chunk_prefill(*problem, **features)
  close(got[0], want[0], "float32")
  close(got[1], want[1], "float32")


def test_a_decode_is_the_last_row_of_a_prefill():
  shape = Shape()
  q_UNH, kv, page_RM, row_U, position_U = problem = _problem(shape)
  out_UNH, lse_UN = _kernel()(*problem)
  last_R = np.array([np.flatnonzero(row_U == r)[-1] for r in range(5)])
  out_RNH, lse_RN = decode_tpu.paged_decode(
      q_UNH[last_R], kv, page_RM, position_U[last_R] + 1, scale=SCALE,
      interpret=True,
  )
  close(out_UNH[last_R], out_RNH, "float32")
  close(lse_UN[last_R], lse_RN, "float32")


@pytest.mark.parametrize("split", [1, 5])
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
  moved = jnp.zeros_like(kv).at[order].set(kv)
  after = _kernel()(q_UNH, moved, order[page_RM], row_U, position_U)
  np.testing.assert_array_equal(_kernel()(*problem)[0], after[0])


def test_against_attention_that_is_not_ours():
  q_UNH, kv, page_RM, row_U, position_U = problem = _problem(Shape())
  out_UNH, _ = _kernel()(*problem)
  k_RKSH, v_RKSH = (jnp.nan_to_num(x) for x in pages.context(kv, page_RM))
  for row, (first, n) in enumerate(CHUNKS):
    seen_US = np.arange(k_RKSH.shape[2]) <= np.arange(first, first + n)[:, None]
    want = jax.nn.dot_product_attention(
        q_UNH[row_U == row][None], k_RKSH[row].swapaxes(0, 1)[None],
        v_RKSH[row].swapaxes(0, 1)[None], mask=jnp.array(seen_US)[None, None],
        scale=SCALE,
    )
    close(out_UNH[row_U == row], want[0], "float32")


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
