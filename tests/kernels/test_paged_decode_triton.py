"""`paged_decode` of GPUs, interpreted, against its reference and others."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pdjax_kernels import tiles
from pdjax_kernels.chunk_prefill import triton as prefill_triton
from pdjax_kernels.paged_decode import reference, triton
from pdjax_kernels.paged_decode.blocks import TritonBlocks, triton_blocks
from pdjax_kernels.spec import Spec

from tests.kernels.problems import SCALE, Shape, cache, close, queries, table

BLOCKS = TritonBlocks(tokens=16, programs=1)
IN_PARTS = TritonBlocks(tokens=16, programs=1000)
LONG = Shape(M=33)
"""Contexts of up to 264 tokens: four parts of at least four tiles."""


@functools.cache
def _kernel(blocks=BLOCKS, **features):
  return jax.jit(functools.partial(
      triton.paged_decode, scale=SCALE, interpret=True, blocks=blocks,
      **features,
  ))


def _problem(shape: Shape, lengths=None):
  length_B = np.array(lengths or shape.lengths, np.int32)
  page_BM = table(shape, len(length_B))
  kv = cache(shape, page_BM, length_B)
  return queries(shape, len(length_B)), kv, page_BM, length_B


def _check(problem, shape: Shape, blocks=BLOCKS, **features):
  got = _kernel(blocks, **features)(*problem)
  want = reference.paged_decode(*problem, scale=SCALE, **features)
  assert got[0].dtype == shape.dtype
  close(got[0] * shape.step, want[0] * shape.step, shape.dtype)
  close(got[1], want[1], "float32")


CASES = {
    "grouped": (Shape(), {}),
    "three_queries_a_head": (Shape(N=6), {"window": 19, "soft_cap": 1.5}),
    "multi_query_bfloat16": (
        Shape(K=1, dtype="bfloat16", kv_dtype="bfloat16"), {"window": 3},
    ),
    "multi_head_64_int8": (
        Shape(N=2, H=64, dtype="bfloat16", kv_dtype="int8"), {"soft_cap": 2.0},
    ),
    "head_64_packed": (Shape(H=64, packed=True), {"window": 8}),
    "head_256_page_16_float8": (
        Shape(H=256, K=1, C=16, M=3, dtype="bfloat16",
              kv_dtype="float8_e4m3fn"), {},
    ),
}


@pytest.mark.parametrize("shape, features", CASES.values(), ids=CASES)
def test_agrees_with_the_reference(shape, features):
  _check(_problem(shape), shape, **features)


def test_parts_change_nothing():
  """Short contexts have empty parts; all are cut at tiles."""
  assert IN_PARTS.parts(6, LONG.M * LONG.C) == 4
  _check(_problem(LONG, (264, 0, 1, 130)), LONG, IN_PARTS, window=200)


def test_where_pages_live_and_who_shares_them_changes_nothing():
  q_BNH, kv, page_BM, length_B = _problem(Shape())
  page_BM[7, :2] = page_BM[8, :2]
  kv = cache(Shape(), page_BM, length_B)
  _check((q_BNH, kv, page_BM, length_B), Shape())
  order = np.random.default_rng(5).permutation(len(kv)).astype(np.int32)
  moved = jnp.zeros_like(kv).at[order].set(kv)
  before = _kernel()(q_BNH, kv, page_BM, length_B)
  after = _kernel()(q_BNH, moved, order[page_BM], length_B)
  np.testing.assert_array_equal(before[0], after[0])


def test_against_a_kernel_that_is_not_ours():
  """JAX's own for GPUs, interpreted; deprecated from 0.12 on."""
  theirs = pytest.importorskip(
      "jax.experimental.pallas.ops.gpu.paged_attention"
  )
  shape = dataclasses.replace(Shape(), M=4)
  q_BNH, kv, page_BM, length_B = _problem(shape, (1, 8, 9, 32, 31))
  side_2KPCH = jnp.nan_to_num(kv).transpose(1, 2, 0, 3, 4)
  want_BNH = theirs.paged_attention(
      q_BNH * SCALE, side_2KPCH[0], side_2KPCH[1], page_BM, length_B,
      k_splits=2, pages_per_compute_block=2, interpret=True,
  )
  got_BNH, _ = _kernel()(q_BNH, kv, page_BM, length_B)
  close(got_BNH, want_BNH, "float32")


def test_a_decode_is_the_last_row_of_a_prefill():
  q_BNH, kv, page_BM, length_B = _problem(Shape(), (5, 40, 16, 9))
  row_B = np.arange(4, dtype=np.int32)
  last = prefill_triton.chunk_prefill(
      q_BNH, kv, page_BM, row_B, length_B - 1, scale=SCALE, interpret=True,
  )
  want = reference.paged_decode(q_BNH, kv, page_BM, length_B, scale=SCALE)
  close(last[0], want[0], "float32")
  close(last[1], want[1], "float32")


SPEC = Spec(
    num_heads=32, num_kv_heads=8, head_dim=128, page_tokens=16,
    dtype="bfloat16", kv_dtype="bfloat16",
)


@pytest.mark.parametrize("changes, reason", [
    ({}, None),
    ({"head_dim": 64, "packed": True}, None),
    ({"page_tokens": 24}, None),
    ({"head_dim": 96}, "heads of 96: not a power of two"),
    ({"head_dim": 8}, "heads of 8: not a power of two from 16"),
    ({"head_dim": 512}, "heads of 512"),
    ({"dtype": "float16"}, "queries of float16"),
])
def test_supports_says_why(changes, reason):
  said = triton.supports(dataclasses.replace(SPEC, **changes))
  assert said is None if reason is None else reason in said


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_guessed_tiles_fit_the_memory_of_a_core(head_dim, dtype):
  """227 KiB on Hopper; keys and values of each stage."""
  blocks = triton_blocks(dataclasses.replace(
      SPEC, head_dim=head_dim, dtype=dtype, kv_dtype=dtype
  ))
  tile = 2 * blocks.tokens * head_dim * jnp.dtype(dtype).itemsize
  assert blocks.stages * tile <= 96 * 2**10


@pytest.mark.parametrize("contexts, tokens, parts", [
    (1, 262_144, 528), (8, 4096, 16), (256, 4096, 3), (1000, 262_144, 1),
    (8, 100, 1),
])
def test_contexts_are_cut_to_keep_a_device_busy(contexts, tokens, parts):
  """By hand, with tiles of 64: parts of at least 256 tokens."""
  assert TritonBlocks(tokens=64).parts(contexts, tokens) == parts


@pytest.mark.parametrize("dtype", ["int8", "float8_e4m3fn"])
def test_a_cache_that_pallas_would_address_wrongly_is_refused(dtype):
  """2**31 values and more at one byte: offsets in 32 bits with a sign."""
  page = (2, 8, 16, 128)
  sizes = {"fits": 2**31, "wraps": 2**31 + 2**20, "wide": 2**32 + 2**20}
  for name, size in sizes.items():
    kv = jax.ShapeDtypeStruct((size // np.prod(page), *page), dtype)
    if name == "wraps":
      with pytest.raises(ValueError, match="between 2 and 4 GiB"):
        jax.eval_shape(tiles.flat, kv)
    else:
      jax.eval_shape(tiles.flat, kv)
