"""Decodes of several sequences at once in plain XLA, for a CPU.

A query is one row: a product with the keys reads each of them once and does
little with it. So scores and outputs are sums of products, which XLA fuses and
shares out among the cores, instead of matrix products, which would lay the keys
out anew first. Context is read in blocks of pages with a running softmax in
float32 (arXiv 2205.14135).

Dimension key: docs/notation.md. Here Y = pages of a block, S = their tokens.
"""

import functools

import jax
import jax.numpy as jnp

from pdjax_kernels import pages

MASKED = -1e30
"""A finite score, so that a row with nothing to see makes no NaN."""


def attend(
    q_BKGH: jax.Array,
    page_BM: jax.Array,
    first_B: jax.Array,
    length_B: jax.Array,
    kv_P2KCH: jax.Array,
    *,
    scale: float,
    soft_cap: float | None,
    block_tokens: int,
) -> tuple[jax.Array, jax.Array]:
  """One query a sequence over its positions from first to length.

  All sequences go as far as most of them have context; what lies beyond is
  read for the longest quarter alone, so that an odd long one costs little.

  Returns:
    out_BKGH and lse_BKG, float32; zeros and -inf where there is nothing to
    see.
  """
  B, C = q_BKGH.shape[0], kv_P2KCH.shape[3]
  Y = max(1, min(page_BM.shape[1], block_tokens // C))
  page_BM = jnp.pad(page_BM, ((0, 0), (0, -page_BM.shape[1] % Y)))
  q_BKGH = q_BKGH.astype(jnp.float32) * scale
  block = functools.partial(
      _block, kv_P2KCH, pages_a_block=Y, soft_cap=soft_cap
  )
  inputs = (q_BKGH, page_BM, first_B, length_B)
  zeros_BKG = jnp.zeros(q_BKGH.shape[:3], jnp.float32)
  state = (zeros_BKG + MASKED, zeros_BKG, jnp.zeros_like(q_BKGH))
  # A sequence that sees nothing has no say in where to begin.
  longest = jnp.max(length_B)
  begin = jnp.min(jnp.where(first_B < length_B, first_B, longest))
  begin, end = jnp.maximum(begin, 0) // (Y * C), -(-longest // (Y * C))
  few = B // 4
  if few:
    order_B = jnp.argsort(-length_B)
    common = -(-length_B[order_B[few]] // (Y * C))
    state = _loop(block, inputs, begin, common, state)
    own = order_B[:few]
    part = jax.tree.map(lambda x: x[own], (inputs, state))
    part = _loop(block, part[0], jnp.maximum(begin, common), end, part[1])
    state = jax.tree.map(lambda x, y: x.at[own].set(y), state, part)
  else:
    state = _loop(block, inputs, begin, end, state)
  return _result(*state)


def _loop(block, inputs, begin, end, state):
  return jax.lax.fori_loop(
      begin, end, lambda i, state: block(i, inputs, state), state
  )


def _block(
    kv_P2KCH: jax.Array, i, inputs, state, *, pages_a_block: int,
    soft_cap: float | None,
):
  """The running maximum, sum and output with block i of the contexts."""
  q_BKGH, page_BM, first_B, length_B = inputs
  C, Y = kv_P2KCH.shape[3], pages_a_block
  page_BY = jax.lax.dynamic_slice_in_dim(page_BM, i * Y, Y, axis=1)
  k_BKSH, v_BKSH = cells(kv_P2KCH, page_BY)
  position_S = i * Y * C + jnp.arange(Y * C)
  seen_BS = first_B[:, None] <= position_S
  seen_BS &= position_S < length_B[:, None]
  score_BKGS = jnp.sum(q_BKGH[:, :, :, None] * k_BKSH[:, :, None], axis=-1)
  if soft_cap is not None:
    score_BKGS = soft_cap * jnp.tanh(score_BKGS / soft_cap)
  score_BKGS = jnp.where(seen_BS[:, None, None], score_BKGS, MASKED)
  v_BKSH = jnp.where(seen_BS[:, None, :, None], v_BKSH, 0)
  return _added(state, score_BKGS, v_BKSH)


def _result(
    top_BKG: jax.Array, sum_BKG: jax.Array, out_BKGH: jax.Array
) -> tuple[jax.Array, jax.Array]:
  lse_BKG = jnp.where(
      top_BKG > 0.5 * MASKED, top_BKG + jnp.log(sum_BKG), -jnp.inf
  )
  # An empty context leaves 0 / 0.
  return out_BKGH / jnp.maximum(sum_BKG, 1e-30)[..., None], lse_BKG


def _added(state, score_BKGS: jax.Array, v_BKSH: jax.Array):
  top_BKG, sum_BKG, out_BKGH = state
  new_BKG = jnp.maximum(top_BKG, score_BKGS.max(-1))
  keep_BKG = jnp.exp(top_BKG - new_BKG)
  weight_BKGS = jnp.exp(score_BKGS - new_BKG[..., None])
  more_BKGH = jnp.sum(weight_BKGS[..., None] * v_BKSH[:, :, None], axis=3)
  return (
      new_BKG,
      sum_BKG * keep_BKG + weight_BKGS.sum(-1),
      out_BKGH * keep_BKG[..., None] + more_BKGH,
  )


def cells(
    kv_P2KCH: jax.Array, page_BY: jax.Array
) -> tuple[jax.Array, jax.Array]:
  """Keys and values of pages, float32, S = Y * C: k_BKSH, v_BKSH.

  As rows of a matrix with one row a page, side and head: on a CPU this is
  twice as fast as a gather of whole pages and a transpose.
  """
  P, pair, K, C, W = kv_P2KCH.shape
  B = page_BY.shape[0]
  flat = kv_P2KCH.reshape(P * pair * K, C * W)
  k_row_BKY = (
      page_BY[:, None] * (pair * K) + jnp.arange(K, dtype=jnp.int32)[:, None]
  )

  def read(row_BKY):
    return flat[row_BKY].astype(jnp.float32).reshape(B, K, -1, W)

  if pages.is_packed(kv_P2KCH):
    k_BKSH, v_BKSH = jnp.split(read(k_row_BKY), 2, axis=-1)
    return k_BKSH, v_BKSH
  return read(k_row_BKY), read(k_row_BKY + K)
