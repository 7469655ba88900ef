"""`chunk_prefill` for TPU: Mosaic.

A program is a block of tokens, which may belong to several rows. It visits
each of these rows' contexts up to the last position a token of the block sees
(`stream`), with one running softmax (`softmax`): scores of other rows' tokens
are masked.

Dimension key: docs/notation.md; J = blocks of tokens, Z = tokens of a block,
X = G * Z rows of queries that share a kv head, W = width of a cell.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from pdjax_kernels import cost, pages, softmax, stream
from pdjax_kernels.chunk_prefill.blocks import TpuBlocks, tpu_blocks
from pdjax_kernels.paged_decode.reference import first_seen
from pdjax_kernels.paged_decode.tpu import supports as supports
from pdjax_kernels.spec import Spec
from pdjax_kernels.stream import PageStream

_VMEM_BYTES = 40 * 2**20
"""Fits every target: a TPU has 64 MiB of fast memory or more."""


def chunk_prefill(
    q_UNH: jax.Array,
    kv_P2KCH: jax.Array,
    page_RM: jax.Array,
    row_U: jax.Array,
    position_U: jax.Array,
    *,
    scale: float,
    window: int | None = None,
    soft_cap: float | None = None,
    blocks: TpuBlocks | None = None,
    device: str | None = None,
    interpret: Any = False,
) -> tuple[jax.Array, jax.Array]:
  """See reference.py; what comes after that changes no result.

  Blocks are the given, the measured of a kind of `device`, or a guess.
  """
  (U, N, H), (_, pair, K, C, W) = q_UNH.shape, kv_P2KCH.shape
  (R, M), G = page_RM.shape, N // K
  blocks = blocks or tpu_blocks(Spec.of(q_UNH, kv_P2KCH), device)
  q_KJXW = _blocked(pages.widened(q_UNH, kv_P2KCH), K, blocks.tokens)
  _, J, X, _ = q_KJXW.shape
  visits = _visits(row_U, position_U, R, blocks.tokens, window)
  at_block, at_lse = (
      pl.BlockSpec((blocks.heads, 1, *tile), lambda h, j, *_: (h, j, 0, 0))
      for tile in ((X, W), (1, X))
  )
  out_KJXW, lse_KJX = pl.pallas_call(
      functools.partial(
          _kernel, M=M, R=R, Z=blocks.tokens, scale=scale, window=window,
          soft_cap=soft_cap,
      ),
      out_shape=(
          jax.ShapeDtypeStruct(q_KJXW.shape, q_UNH.dtype),
          jax.ShapeDtypeStruct((K, J, 1, X), jnp.float32),
      ),
      grid_spec=pltpu.PrefetchScalarGridSpec(
          num_scalar_prefetch=1 + len(visits),
          grid=(K // blocks.heads, J),
          in_specs=[at_block, pl.BlockSpec(memory_space=pl.ANY)],
          out_specs=(at_block, at_lse),
          scratch_shapes=[
              *stream.scratch(
                  (blocks.pages, pair, blocks.heads, C, W), kv_P2KCH.dtype
              ),
              *softmax.scratch((blocks.heads, X), W),
          ],
      ),
      compiler_params=pltpu.CompilerParams(
          dimension_semantics=("arbitrary", "arbitrary"),
          vmem_limit_bytes=_VMEM_BYTES,
      ),
      cost_estimate=cost.chunk_prefill(q_UNH, kv_P2KCH, page_RM, J),
      interpret=interpret,
      name="chunk_prefill",
  )(page_RM.reshape(-1), *visits, q_KJXW, kv_P2KCH)
  out_UNH = _unblocked(out_KJXW, U, G)[..., W - H :]
  return out_UNH, _unblocked(lse_KJX.reshape(K, J, X, 1), U, G)[..., 0]


def _blocked(q_UNW: jax.Array, K: int, Z: int) -> jax.Array:
  """Blocks of Z tokens, head by head: q_KJXW with X = (G, Z)."""
  U, N, W = q_UNW.shape
  q_UNW = jnp.pad(q_UNW, ((0, -U % Z), (0, 0), (0, 0)))
  q_JZKGW = q_UNW.reshape(-1, Z, K, N // K, W)
  return q_JZKGW.transpose(2, 0, 3, 1, 4).reshape(K, -1, N // K * Z, W)


def _unblocked(x_KJXW: jax.Array, U: int, G: int) -> jax.Array:
  K, J, X, W = x_KJXW.shape
  x_KJGZW = x_KJXW.reshape(K, J, G, X // G, W)
  return x_KJGZW.transpose(1, 3, 0, 2, 4).reshape(-1, K * G, W)[:U]


def _visits(row_U, position_U, R: int, Z: int, window: int | None):
  """What each block sees of each row, V = (J, R): five i32 arrays.

  First and end position, the visits that follow one another, and the row's
  first token in the block and their number.
  """
  pad = (0, -row_U.shape[0] % Z)
  row_JZ = jnp.pad(row_U, pad, constant_values=-1).reshape(-1, Z)
  position_JZ1 = jnp.pad(position_U, pad).reshape(-1, Z, 1)
  token_Z1 = jnp.arange(Z, dtype=jnp.int32)[:, None]
  mine_JZR = row_JZ[..., None] == jnp.arange(R, dtype=jnp.int32)
  count_V = mine_JZR.sum(axis=1, dtype=jnp.int32).reshape(-1)
  token_V = jnp.where(mine_JZR, token_Z1, Z).min(axis=1).reshape(-1)
  end_V = jnp.where(mine_JZR, position_JZ1 + 1, 0).max(axis=1).reshape(-1)
  # The first token of a visit sees farthest back.
  first_V = first_seen(end_V - count_V + 1, None, window)
  first_V = jnp.where(count_V > 0, jnp.maximum(first_V, 0), 0)
  return first_V, end_V, stream.following(first_V, end_V), token_V, count_V


def _kernel(
    page_ref, first_ref, end_ref, following_ref, token_ref, count_ref, q_ref,
    kv_ref, out_ref, lse_ref, buffer_ref, sem_ref, slot_ref, *state_refs,
    M, R, Z, scale, window, soft_cap,
):
  j = pl.program_id(1)
  pages_of = PageStream(
      page_ref, M, R, first_ref, end_ref, following_ref, kv_ref,
      pl.program_id(0) * buffer_ref.shape[3], buffer_ref, sem_ref, slot_ref,
  )
  state = softmax.State(*state_refs)
  state.clear()

  @pl.loop(0, R)
  def _(r):
    v = j * R + r
    first, end = first_ref[v], end_ref[v]

    def attend(block_ref, at):
      softmax.zero_unseen(
          block_ref.at[:, block_ref.shape[1] - 1], at, first, end
      )
      seen_XS = _seen(
          (q_ref.shape[2], block_ref.shape[0] * block_ref.shape[3]), at,
          token_ref[v], count_ref[v], end, Z, window,
      )

      @pl.loop(0, block_ref.shape[2])
      def _(k):
        state.attend(k, q_ref[k, 0], block_ref, seen_XS, scale, soft_cap)

    pages_of.visit(v, attend)

  out, lse = state.result()
  out_ref[:, 0] = out.astype(out_ref.dtype)
  for k in range(lse.shape[0]):
    lse_XL = jnp.broadcast_to(lse[k], (lse.shape[1], pages.LANES))
    lse_ref[k, 0] = lse_XL.T[:1]


def _seen(shape, at, token, count, end, Z, window) -> jax.Array:
  """Which cells of a block each row of queries sees: seen_XS."""
  # Z is a power of two: X = (G, Z) leaves the token in its low bits.
  token_XS = jax.lax.broadcasted_iota(jnp.int32, shape, 0) & (Z - 1)
  position_XS = at + jax.lax.broadcasted_iota(jnp.int32, shape, 1)
  ahead_XS = position_XS - (end - count - token) - token_XS
  seen_XS = (token_XS >= token) & (token_XS < token + count) & (ahead_XS <= 0)
  if window is not None:
    seen_XS &= ahead_XS > -window
  return seen_XS
