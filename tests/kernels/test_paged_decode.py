"""`paged_decode` of TPU in interpret mode, against its reference and others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pdjax_kernels.merge_states.reference import with_sink
from pdjax_kernels.paged_decode import reference, tpu
from pdjax_kernels.paged_decode.blocks import TpuBlocks, tpu_blocks
from pdjax_kernels.spec import Spec

from tests.kernels.problems import (
    SCALE,
    Shape,
    cache,
    close,
    gathered,
    jitted,
    queries,
    table,
)

BLOCKS = TpuBlocks(pages=2, heads=1)


def _kernel(blocks=BLOCKS, **features):
  return jitted(
      tpu.paged_decode, scale=SCALE, interpret=True, blocks=blocks, **features
  )


def _reference(**features):
  return jitted(reference.paged_decode, scale=SCALE, **features)


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
  want = _reference(**features)(*problem)
  assert got[0].dtype == shape.dtype
  close(got[0] * shape.step, want[0] * shape.step, shape.dtype)
  # The sum of weights is kept in float32 whatever the queries are; products
  # of narrow types are rounded alike in both.
  close(got[1], want[1], "float32")


CASES = {
    "grouped": (Shape(), {}),
    "grouped_window_over_pages": (Shape(), {"window": 19}),
    "multi_query_page_16_bfloat16": (
        Shape(N=4, K=1, C=16, M=3, dtype="bfloat16", kv_dtype="bfloat16"),
        {"soft_cap": 2.0},
    ),
    "multi_head_256_bfloat16_cache": (
        Shape(N=2, K=2, H=256, kv_dtype="bfloat16"), {},
    ),
    "head_64_packed": (
        Shape(H=64, packed=True), {"window": 8, "soft_cap": 1.5}
    ),
    "float8_cache": (
        Shape(dtype="bfloat16", kv_dtype="float8_e4m3fn"), {"window": 3}
    ),
    "int8_cache": (Shape(N=8, dtype="bfloat16", kv_dtype="int8"), {}),
}


@pytest.mark.parametrize("shape, features", CASES.values(), ids=CASES)
def test_agrees_with_the_reference(shape, features):
  _check(shape, **features)


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
  q_BNH, kv, page_BM, length_B = problem = _problem(Shape())
  order = np.random.default_rng(5).permutation(len(kv)).astype(np.int32)
  moved = np.empty_like(kv)
  moved[order] = kv
  after = _kernel()(q_BNH, moved, order[page_BM], length_B)
  np.testing.assert_array_equal(_kernel()(*problem)[0], after[0])


def test_shared_prefix_pages():
  """Two sequences over the same first pages, each with a page of its own."""
  shape = Shape()
  q_BNH, _, page_BM, length_B = _problem(shape, (20, 23))
  page_BM[:2, :3] = (1, 2, 3), (1, 2, 4)
  kv = cache(shape, page_BM, length_B)
  kv = jnp.pad(kv, ((0, shape.M * len(length_B) + 2 - len(kv)), *[(0, 0)] * 4))
  problem = q_BNH, kv, page_BM, length_B
  close(_kernel()(*problem)[0], _reference()(*problem)[0], "float32")


def test_against_attention_that_is_not_ours():
  problem = _problem(Shape(), (1, 8, 9, 40, 3, 32, 33, 31, 7))
  q_BNH, kv, page_BM, length_B = problem
  want = jitted(jax.nn.dot_product_attention, scale=SCALE)(
      q_BNH[:, None], *gathered(kv, page_BM), key_value_seq_lengths=length_B
  )
  close(_kernel()(*problem)[0], want[:, 0], "float32")


def test_a_sink_against_a_softmax_by_hand():
  """One more score, without a value, beside those of the context."""
  q_BNH, kv, page_BM, length_B = problem = _problem(Shape(), (9, 40, 16))
  sink_N = np.linspace(-2, 3, q_BNH.shape[1], dtype=np.float32)
  out_BNH, lse_BN = _kernel()(*problem)
  got_BNH, _ = with_sink(out_BNH, lse_BN, sink_N)
  k_BSKH, v_BSKH = gathered(kv, page_BM)
  for b, n in ((0, 0), (1, 1), (1, 3), (2, 2)):
    S, k = length_B[b], n // 2
    score_S = SCALE * k_BSKH[b, :S, k] @ np.asarray(q_BNH[b, n])
    weight_S = np.exp(score_S)
    want_H = weight_S @ v_BSKH[b, :S, k] / (weight_S.sum() + np.exp(sink_N[n]))
    close(got_BNH[b, n], want_H, "float32")


def test_a_long_batch_is_split(monkeypatch):
  """A program of its own for two parts of the batch."""
  problem = _problem(Shape())
  monkeypatch.setattr(tpu, "_TABLE_WORDS", 25)
  parts = tpu.paged_decode(
      *problem, scale=SCALE, interpret=True, blocks=BLOCKS
  )
  np.testing.assert_array_equal(_kernel()(*problem)[0], parts[0])


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
