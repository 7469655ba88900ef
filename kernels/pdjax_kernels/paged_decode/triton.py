"""`paged_decode` for NVIDIA GPUs: Triton.

A program is a part of one sequence's context in one kv head. Parts are of
equal length within a sequence, whatever its length, and as many as it takes to
keep the device busy; `merge_states` puts them together.

Dimension key: docs/notation.md; W = width of a cell, X = rows of queries that
share a kv head, padded, Y = parts of a context.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu

from pdjax_kernels import cost, pages, tiles
from pdjax_kernels.merge_states.reference import merge_states
from pdjax_kernels.paged_decode.blocks import TritonBlocks, triton_blocks
from pdjax_kernels.paged_decode.reference import first_seen
from pdjax_kernels.spec import Spec, mismatch


def supports(spec: Spec) -> str | None:
  """Why the kernel does not take this, or None."""
  W = spec.cell_width
  if W < tiles.LEAST_ROWS or W & (W - 1) or W > 256:
    return f"heads of {spec.head_dim}: not a power of two from 16 to 256"
  return mismatch(spec)


def paged_decode(
    q_BNH: jax.Array,
    kv_P2KCH: jax.Array,
    page_BM: jax.Array,
    length_B: jax.Array,
    *,
    scale: float,
    first_B: jax.Array | None = None,
    window: int | None = None,
    soft_cap: float | None = None,
    blocks: TritonBlocks | None = None,
    device: str | None = None,
    interpret: Any = False,
) -> tuple[jax.Array, jax.Array]:
  """See reference.py; what comes after that changes no result.

  Blocks are the given, the measured of a kind of `device`, or a guess.
  """
  (B, N, H), (_, _, K, C, W) = q_BNH.shape, kv_P2KCH.shape
  blocks = blocks or triton_blocks(Spec.of(q_BNH, kv_P2KCH), device)
  Y = blocks.parts(B * K, page_BM.shape[1] * C)
  out_YQW, lse_YQ = pl.pallas_call(
      functools.partial(
          _kernel, K=K, C=C, M=page_BM.shape[1], G=N // K, S=blocks.tokens,
          scale=scale, soft_cap=soft_cap,
      ),
      out_shape=(
          jax.ShapeDtypeStruct(
              (Y, B * N, W), jnp.float32 if Y > 1 else q_BNH.dtype
          ),
          jax.ShapeDtypeStruct((Y, B * N), jnp.float32),
      ),
      grid=(K, Y, B),
      compiler_params=plgpu.CompilerParams(
          num_warps=blocks.warps, num_stages=blocks.stages
      ),
      cost_estimate=cost.paged_decode(q_BNH, kv_P2KCH, page_BM),
      interpret=interpret,
      name="paged_decode",
  )(
      pages.widened(q_BNH, kv_P2KCH).reshape(B * N, W), tiles.flat(kv_P2KCH),
      page_BM.reshape(-1), first_seen(length_B, first_B, window), length_B,
  )
  out_YBNH = out_YQW[..., W - H :].reshape(Y, B, N, H)
  lse_YBN = lse_YQ.reshape(Y, B, N)
  if Y == 1:
    return out_YBNH[0], lse_YBN[0]
  out_BNH, lse_BN = merge_states(out_YBNH, lse_YBN)
  return out_BNH.astype(q_BNH.dtype), lse_BN


def _kernel(
    q_ref, kv_ref, page_ref, first_ref, end_ref, out_ref, lse_ref, *,
    K, C, M, G, S, scale, soft_cap,
):
  k, y, b = (pl.program_id(axis) for axis in range(3))
  X, W = max(tiles.LEAST_ROWS, tiles.power_of_two(G)), q_ref.shape[1]
  row_X = jnp.arange(X, dtype=jnp.int32)
  mine_X = row_X < G
  query_X = b * (K * G) + k * G + row_X
  q_XW = tiles.rows(q_ref, (query_X,), W, mine_X)
  begin, end = _part(first_ref[b], end_ref[b], y, out_ref.shape[0], S)
  context = tiles.Context(kv_ref, page_ref, b * M, k, K, C)

  def add(i, state):
    at = begin + i * S
    k_SW, v_SW = context.cells(at, S, end)
    position_S = at + jnp.arange(S, dtype=jnp.int32)
    seen_XS = jnp.broadcast_to((position_S < end)[None], (X, S))
    return state.add(q_XW, k_SW, v_SW, seen_XS, scale, soft_cap)

  state = jax.lax.fori_loop(
      0, pl.cdiv(end - begin, S), add, tiles.nothing(X, W)
  )
  out_XW, lse_X = state.result()
  # Rows that are padding lie past the end, where nothing is stored.
  store_X = jnp.where(mine_X, query_X, out_ref.shape[1])
  part_X = jnp.full((X,), y, jnp.int32)
  tiles.put_rows(out_ref, (part_X, store_X), out_XW, mine_X)
  plgpu.store(lse_ref.at[part_X, store_X], lse_X, mask=mine_X)


def _part(first, end, y, Y: int, S: int):
  """Part y of Y of the positions from `first` to `end`: its first and end."""
  tokens = pl.cdiv(pl.cdiv(jnp.maximum(end - first, 0), Y), S) * S
  begin = first + y * tokens
  return begin, jnp.maximum(begin, jnp.minimum(begin + tokens, end))
