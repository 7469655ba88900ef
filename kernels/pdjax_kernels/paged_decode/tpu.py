"""`paged_decode` for TPU: Mosaic.

A program is one sequence. It goes through the pages it may see in blocks
(`stream`) with a running softmax (`softmax`).

Dimension key: docs/notation.md; W = width of a cell.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from pdjax_kernels import cost, pages, softmax, stream
from pdjax_kernels.paged_decode.blocks import TpuBlocks, tpu_blocks
from pdjax_kernels.paged_decode.reference import first_seen
from pdjax_kernels.spec import Spec, mismatch
from pdjax_kernels.stream import PageStream

_TABLE_WORDS = 2**17
"""Of the page table in scalar memory at once; longer batches are split."""


def supports(spec: Spec) -> str | None:
  """Why the kernel does not take this, or None."""
  if spec.cell_width % pages.LANES:
    return (
        f"cells of {spec.cell_width} lanes (head width {spec.head_dim},"
        f" {'packed' if spec.packed else 'not packed'}): not a multiple of"
        f" {pages.LANES}"
    )
  if spec.page_tokens % 8:
    return f"pages of {spec.page_tokens} tokens: not a multiple of 8"
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
    blocks: TpuBlocks | None = None,
    device: str | None = None,
    interpret: Any = False,
) -> tuple[jax.Array, jax.Array]:
  """See reference.py; what comes after that changes no result.

  Blocks are the given, the measured of a kind of `device`, or a guess.
  """
  B, N, H = q_BNH.shape
  first_B = first_seen(length_B, first_B, window)
  call = functools.partial(
      _call, kv_P2KCH=kv_P2KCH, scale=scale, soft_cap=soft_cap,
      blocks=blocks or tpu_blocks(Spec.of(q_BNH, kv_P2KCH), device),
      interpret=interpret,
  )
  rows = max(1, _TABLE_WORDS // page_BM.shape[1])
  parts = [
      call(*(x[i : i + rows] for x in (q_BNH, page_BM, length_B, first_B)))
      for i in range(0, B, rows)
  ]
  out_BNH, lse_BN = jax.tree.map(lambda *xs: jnp.concatenate(xs), *parts)
  return out_BNH, lse_BN


def _call(
    q_BNH, page_BM, length_B, first_B, *, kv_P2KCH, scale, soft_cap, blocks,
    interpret,
):
  (B, N, H), (_, pair, K, C, W) = q_BNH.shape, kv_P2KCH.shape
  M = page_BM.shape[1]
  G = N // K
  q_BKGW = pages.widened(q_BNH, kv_P2KCH).reshape(B, K, G, W)
  at_sequence = pl.BlockSpec(
      (1, blocks.heads, G, W), lambda h, b, *_: (b, h, 0, 0)
  )
  at_lse = pl.BlockSpec(
      (1, blocks.heads, G, pages.LANES), lambda h, b, *_: (b, h, 0, 0)
  )
  out_BKGW, lse_BKG = pl.pallas_call(
      functools.partial(
          _kernel, M=M, B=B, scale=scale, soft_cap=soft_cap
      ),
      out_shape=(
          jax.ShapeDtypeStruct(q_BKGW.shape, q_BNH.dtype),
          jax.ShapeDtypeStruct((B, K, G, pages.LANES), jnp.float32),
      ),
      grid_spec=pltpu.PrefetchScalarGridSpec(
          num_scalar_prefetch=4,
          grid=(K // blocks.heads, B),
          in_specs=[at_sequence, pl.BlockSpec(memory_space=pl.ANY)],
          out_specs=(at_sequence, at_lse),
          scratch_shapes=[
              *stream.scratch(
                  (blocks.pages, pair, blocks.heads, C, W), kv_P2KCH.dtype
              ),
              *softmax.scratch((blocks.heads, G), W),
          ],
      ),
      compiler_params=pltpu.CompilerParams(
          dimension_semantics=("arbitrary", "arbitrary")
      ),
      cost_estimate=cost.paged_decode(q_BNH, kv_P2KCH, page_BM),
      interpret=interpret,
      name="paged_decode",
  )(page_BM.reshape(-1), first_B, length_B, stream.following(first_B, length_B),
    q_BKGW, kv_P2KCH)
  out_BNW = out_BKGW.reshape(B, N, W)
  return out_BNW[..., W - H :], lse_BKG[..., 0].reshape(B, N)


def _kernel(
    page_ref, first_ref, end_ref, following_ref, q_ref, kv_ref, out_ref,
    lse_ref, buffer_ref, sem_ref, slot_ref, *state_refs, M, B, scale, soft_cap,
):
  b = pl.program_id(1)
  pages_of = PageStream(
      page_ref, M, B, first_ref, end_ref, following_ref, kv_ref,
      pl.program_id(0) * buffer_ref.shape[3], buffer_ref, sem_ref, slot_ref,
  )
  state = softmax.State(*state_refs)
  state.clear()
  pages_of.visit(b, lambda block_ref, at: _attend(
      q_ref, block_ref, at, first_ref[b], end_ref[b], state, scale, soft_cap
  ))
  out, lse = state.result()
  out_ref[0] = out.astype(out_ref.dtype)
  lse_ref[0] = jnp.broadcast_to(lse, lse_ref.shape[1:])


def _attend(q_ref, block_ref, at, first, end, state, scale, soft_cap):
  """One sequence's queries over a block that begins at position `at`."""
  Y, pair, heads, C, W = block_ref.shape
  softmax.zero_unseen(block_ref.at[:, pair - 1], at, first, end)
  position_1S = at + jax.lax.broadcasted_iota(jnp.int32, (1, Y * C), 1)
  seen_1S = (position_1S >= first) & (position_1S < end)
  for k in range(heads):
    state.attend(k, q_ref[0, k], block_ref, seen_1S, scale, soft_cap)
