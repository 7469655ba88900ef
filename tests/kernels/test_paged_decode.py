"""`paged_decode` of TPU in interpret mode, against its reference and others."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pdjax_kernels import pages
from pdjax_kernels.paged_decode import reference, tpu
from pdjax_kernels.paged_decode.blocks import TpuBlocks, tpu_blocks
from pdjax_kernels.spec import Spec

from tests.kernels.problems import SCALE, Shape, cache, close, queries, table

BLOCKS = TpuBlocks(pages=2, heads=1)


@functools.cache
def _kernel(blocks=BLOCKS, **features):
  return jax.jit(functools.partial(
      tpu.paged_decode, scale=SCALE, interpret=True, blocks=blocks, **features
  ))


def _problem(shape: Shape, lengths=None):
  """Always as many sequences, so that one program serves many tests."""
  lengths = lengths or shape.lengths
  empty = (0,) * (len(shape.lengths) - len(lengths))
  length_B = np.array(lengths + empty, np.int32)
  page_BM = table(shape, len(length_B))
  kv = cache(shape, page_BM, length_B)
  return queries(shape, len(length_B)), kv, page_BM, length_B


def _check(shape: Shape, blocks=BLOCKS, **features):
  problem = _problem(shape)
  got = _kernel(blocks, **features)(*problem)
  want = reference.paged_decode(*problem, scale=SCALE, **features)
  assert got[0].dtype == shape.dtype
  close(got[0] * shape.step, want[0] * shape.step, shape.dtype)
  # The sum of weights is kept in float32 whatever the queries are; products
  # of narrow types are rounded alike in both.
  close(got[1], want[1], "float32")


SHAPES = {
    "grouped": Shape(),
    "multi_query": Shape(N=4, K=1),
    "multi_head": Shape(N=2, K=2),
    "head_64_packed": Shape(H=64, packed=True),
    "head_256": Shape(H=256, K=1),
    "page_16": Shape(C=16, M=3),
    "bfloat16": Shape(dtype="bfloat16", kv_dtype="bfloat16"),
    "bfloat16_cache": Shape(kv_dtype="bfloat16"),
    "float8_cache": Shape(dtype="bfloat16", kv_dtype="float8_e4m3fn"),
    "int8_cache": Shape(dtype="bfloat16", kv_dtype="int8"),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_agrees_with_the_reference(shape):
  _check(shape)


FEATURES = {
    "window_inside_a_page": {"window": 3},
    "window_over_pages": {"window": 19},
    "soft_cap": {"soft_cap": 2.0},
    "window_and_cap": {"window": 8, "soft_cap": 1.5},
}


@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
def test_features(features):
  _check(Shape(), **features)


@pytest.mark.parametrize("blocks", [
    TpuBlocks(pages=1, heads=2), TpuBlocks(pages=5, heads=2),
], ids=["one_page", "whole_context"])
def test_block_size_changes_nothing(blocks):
  _check(Shape(), blocks)


def test_empty_slots_are_zero():
  out_BNH, lse_BN = _kernel()(*_problem(Shape(), (0, 5, 0)))
  assert not np.any(out_BNH[0]) and not np.any(out_BNH[2])
  assert np.all(np.isneginf(lse_BN[0])) and np.all(np.isneginf(lse_BN[2]))


def test_a_batch_of_empty_slots():
  out_BNH, _ = _kernel()(*_problem(Shape(), (0, 0, 0)))
  assert not np.any(out_BNH)


def test_where_pages_live_changes_nothing():
  shape = Shape()
  q_BNH, kv, page_BM, length_B = _problem(shape)
  order = np.random.default_rng(5).permutation(len(kv))
  moved = jnp.zeros_like(kv).at[order].set(kv)
  before = _kernel()(q_BNH, kv, page_BM, length_B)
  after = _kernel()(q_BNH, moved, order[page_BM].astype(np.int32), length_B)
  np.testing.assert_array_equal(before[0], after[0])


def test_shared_prefix_pages():
  """Two sequences over the same first pages, each with a page of its own."""
  shape = Shape()
  q_BNH, _, page_BM, length_B = _problem(shape, (20, 23))
  page_BM[:2, :3] = (1, 2, 3), (1, 2, 4)
  kv = cache(shape, page_BM, length_B)
  problem = q_BNH, kv, page_BM, length_B
  want = reference.paged_decode(*problem, scale=SCALE)
  close(_kernel()(*problem)[0], want[0], "float32")


def test_against_attention_that_is_not_ours():
  shape = Shape()
  problem = _problem(shape, (1, 8, 9, 40, 3, 32, 33, 31, 7))
  q_BNH, kv, page_BM, length_B = problem
  k_BKSH, v_BKSH = (
      jnp.nan_to_num(x).swapaxes(1, 2) for x in pages.context(kv, page_BM)
  )
  want = jax.nn.dot_product_attention(
      q_BNH[:, None], k_BKSH, v_BKSH, scale=SCALE,
      key_value_seq_lengths=length_B,
  )
  close(_kernel()(*problem)[0], want[:, 0], "float32")


def test_a_long_batch_is_split(monkeypatch):
  problem = _problem(Shape())
  whole = _kernel()(*problem)
  monkeypatch.setattr(tpu, "_TABLE_WORDS", 20)
  parts = tpu.paged_decode(
      *problem, scale=SCALE, interpret=True, blocks=BLOCKS
  )
  np.testing.assert_array_equal(whole[0], parts[0])


def test_supports_says_why():
  def spec(shape):
    q_BNH, kv, _, _ = _problem(shape)
    return Spec.of(q_BNH, kv)

  assert tpu.supports(spec(Shape())) is None
  assert tpu.supports(spec(Shape(H=64, packed=True))) is None
  assert "64 lanes" in tpu.supports(spec(Shape(H=64)))
  assert "pages of 4" in tpu.supports(spec(Shape(C=4)))


def test_blocks_fit():
  """Many wide heads are taken a part at a time."""
  spec = Spec(
      num_heads=32, num_kv_heads=32, head_dim=256, page_tokens=128,
      dtype="float32", kv_dtype="float32",
  )
  blocks = tpu_blocks(spec)
  page_bytes = 128 * 2 * 256 * 4
  assert 1 <= blocks.heads < 32 and 32 % blocks.heads == 0
  assert blocks.pages * blocks.heads * page_bytes <= 2 * 2**20
