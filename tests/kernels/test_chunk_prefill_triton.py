"""`chunk_prefill` of GPUs in interpret mode, against its reference and laws."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pdjax_kernels import pages
from pdjax_kernels.chunk_prefill import reference, triton
from pdjax_kernels.chunk_prefill.blocks import TritonBlocks

from tests.kernels.problems import SCALE, Shape, cache, close, queries, table

BLOCKS = TritonBlocks(rows=16, tokens=16)
"""Eight tokens of the grouped shape a block: some hold one row's tokens only,
and see whole tiles."""
CHUNKS = ((31, 9), (0, 9), (13, 4), (7, 1), (0, 8))
"""(first position, tokens) of each row: mid-page, from the start, one token."""
PADDING = (3, 2)
"""Tokens between the second and third row, and at the end."""


@functools.cache
def _kernel(blocks=BLOCKS, **features):
  return jax.jit(functools.partial(
      triton.chunk_prefill, scale=SCALE, interpret=True, blocks=blocks,
      **features,
  ))


def _problem(shape: Shape):
  parts = [
      np.stack([np.full(n, row), np.arange(first, first + n)])
      for row, (first, n) in enumerate(CHUNKS)
  ]
  padding = [np.repeat([[-1], [0]], n, axis=1) for n in PADDING]
  tokens = [*parts[:2], padding[0], *parts[2:], padding[1]]
  row_U, position_U = np.concatenate(tokens, axis=1).astype(np.int32)
  page_RM = table(shape, len(CHUNKS))
  kv = cache(shape, page_RM, [first + n for first, n in CHUNKS])
  return queries(shape, len(row_U)), kv, page_RM, row_U, position_U


CASES = {
    "grouped": (Shape(), {}),
    "window_inside_a_tile": (Shape(), {"window": 11, "soft_cap": 2.0}),
    "window_around_a_whole_tile": (Shape(), {"window": 38}),
    "three_queries_a_head": (
        Shape(N=3, K=1, H=64, dtype="bfloat16", kv_dtype="int8"),
        {"window": 1},
    ),
    "head_256_page_16_float8_packed": (
        Shape(K=1, C=16, M=3, dtype="bfloat16", kv_dtype="float8_e4m3fn",
              packed=True), {"soft_cap": 2.0},
    ),
}


@pytest.mark.parametrize("shape, features", CASES.values(), ids=CASES)
def test_agrees_with_the_reference(shape, features):
  problem = _problem(shape)
  got = _kernel(**features)(*problem)
  want = reference.chunk_prefill(*problem, scale=SCALE, **features)
  assert got[0].dtype == shape.dtype
  close(got[0] * shape.step, want[0] * shape.step, shape.dtype)
  close(got[1], want[1], "float32")


def test_block_size_changes_nothing():
  problem = _problem(Shape())
  blocks = TritonBlocks(rows=64, tokens=32)
  for got, want in zip(
      _kernel(blocks)(*problem), _kernel()(*problem), strict=True
  ):
    close(got, want, "float32")


def test_where_a_chunk_is_cut_changes_nothing():
  """The first row's chunk as two rows of one page table, as two steps would."""
  q_UNH, kv, page_RM, row_U, position_U = problem = _problem(Shape())
  whole = _kernel()(*problem)[0]
  cut_U = np.where((row_U == 1) & (position_U >= 5), 2, row_U)
  cut_U = np.where((row_U > 1), -1, cut_U).astype(np.int32)
  parts = _kernel()(q_UNH, kv, page_RM[[0, 1, 1, 3, 4]], cut_U, position_U)[0]
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
  for row, (first, n) in enumerate(CHUNKS[:2]):
    seen_US = np.arange(k_RKSH.shape[2]) <= np.arange(first, first + n)[:, None]
    want = jax.nn.dot_product_attention(
        q_UNH[row_U == row][None], k_RKSH[row].swapaxes(0, 1)[None],
        v_RKSH[row].swapaxes(0, 1)[None], mask=jnp.array(seen_US)[None, None],
        scale=SCALE,
    )
    close(out_UNH[row_U == row], want[0], "float32")


def test_no_tokens_at_all():
  q_UNH, kv, page_RM, row_U, position_U = _problem(Shape())
  out_UNH, lse_UN = triton.chunk_prefill(
      q_UNH[:0], kv, page_RM, row_U[:0], position_U[:0], scale=SCALE
  )
  assert out_UNH.shape == (0, 4, 128) and lse_UN.shape == (0, 4)
