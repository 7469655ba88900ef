"""Attention over the paged cache: one call a shape of work.

Each op takes pages of one layer, or of many layers seen as one long pool. The
bodies here are plain XLA; hardware kernels sit behind the same calls. Softmax
is in float32 whatever the cache holds.

Cells that a query may not see can hold anything, NaN too: they are masked in
the scores and in the values.

Dimension key: docs/notation.md.
"""

import jax
import jax.numpy as jnp

_MASKED = -1e30
"""A finite score, so that a row with nothing to see gives zeros, not NaN."""

_QUERY_BLOCK = 128
"""Prompt tokens that attend together; rows of one request fill most blocks."""


def kv_write(
    kv_P2KCH: jax.Array,
    k_TKH: jax.Array,
    v_TKH: jax.Array,
    page_T: jax.Array,
    cell_T: jax.Array,
) -> jax.Array:
  """The pool with each token's key and value in its cell."""
  kv_T2KH = jnp.stack([k_TKH, v_TKH], axis=1).astype(kv_P2KCH.dtype)
  return kv_P2KCH.at[page_T, :, :, cell_T].set(kv_T2KH)


def paged_decode(
    q_BNH: jax.Array,
    kv_P2KCH: jax.Array,
    page_BM: jax.Array,
    length_B: jax.Array,
    *,
    scale: float,
) -> jax.Array:
  """One query a sequence over its first `length_B` cached tokens.

  Args:
    q_BNH: queries; N is a multiple of K, query head n reads kv head n * K // N.
    kv_P2KCH: pages, the queries' own tokens included.
    page_BM: i32, physical page of each logical page; any page past the end.
    length_B: i32, tokens to attend to; 0 gives zeros.
    scale: multiplies the scores.

  Returns:
    out_BNH in the type of the queries.
  """
  B, N, H = q_BNH.shape
  k_BKSH, v_BKSH = _gather(kv_P2KCH, page_BM)
  K, S = k_BKSH.shape[1:3]
  seen_BS = jnp.arange(S) < length_B[:, None]
  q_BKGH = q_BNH.reshape(B, K, N // K, H).astype(jnp.float32)
  score_BKGS = scale * jnp.einsum("BKGH,BKSH->BKGS", q_BKGH, k_BKSH)
  score_BKGS = jnp.where(seen_BS[:, None, None], score_BKGS, _MASKED)
  v_BKSH = jnp.where(seen_BS[:, None, :, None], v_BKSH, 0)
  weight_BKGS = jax.nn.softmax(score_BKGS, axis=-1)
  out_BKGH = jnp.einsum("BKGS,BKSH->BKGH", weight_BKGS, v_BKSH)
  return out_BKGH.reshape(B, N, H).astype(q_BNH.dtype)


def chunk_prefill(
    q_UNH: jax.Array,
    kv_P2KCH: jax.Array,
    page_RM: jax.Array,
    row_U: jax.Array,
    position_U: jax.Array,
    *,
    scale: float,
) -> jax.Array:
  """Packed prompt tokens of several requests, each over its own past.

  Args:
    q_UNH: queries of all requests, one request after the other.
    kv_P2KCH: pages, the queries' own tokens included.
    page_RM: i32, physical page of each logical page of each request.
    row_U: i32, the request of each query; -1 is padding and gives zeros.
    position_U: i32, a query sees the positions up to its own.
    scale: multiplies the scores.

  Returns:
    out_UNH in the type of the queries.
  """
  U = q_UNH.shape[0]
  if U == 0:
    return q_UNH
  block = min(U, _QUERY_BLOCK)
  pad = -U % block
  q_UNH = jnp.pad(q_UNH, ((0, pad), (0, 0), (0, 0)))
  row_U = jnp.pad(row_U, (0, pad), constant_values=-1)
  position_U = jnp.pad(position_U, (0, pad))
  blocks = jax.tree.map(
      lambda x: x.reshape(-1, block, *x.shape[1:]), (q_UNH, row_U, position_U)
  )
  def attend(xs):
    q_UNH, row_U, position_U = xs
    return _block_attention(
        q_UNH, row_U, position_U, kv_P2KCH, page_RM, scale
    )

  out = jax.lax.map(attend, blocks)
  return out.reshape(-1, *q_UNH.shape[1:])[:U]


def _block_attention(
    q_UNH: jax.Array,
    row_U: jax.Array,
    position_U: jax.Array,
    kv_P2KCH: jax.Array,
    page_RM: jax.Array,
    scale: float,
) -> jax.Array:
  """Goes through the requests of the block, whole contexts at a time.

  A query belongs to one request, so results are selected, not merged.
  """
  def request(r, out_UNH):
    mine_U = row_U == r
    page_M = jax.lax.dynamic_index_in_dim(page_RM, r, keepdims=False)
    k_KSH, v_KSH = (x[0] for x in _gather(kv_P2KCH, page_M[None]))
    limit_U = jnp.where(mine_U, position_U, -1)
    new_UNH = _causal(q_UNH, k_KSH, v_KSH, limit_U, scale)
    return jnp.where(mine_U[:, None, None], new_UNH, out_UNH)

  first = jnp.min(jnp.where(row_U < 0, page_RM.shape[0], row_U))
  return jax.lax.fori_loop(
      first, jnp.max(row_U) + 1, request, jnp.zeros_like(q_UNH)
  )


def _causal(
    q_UNH: jax.Array,
    k_KSH: jax.Array,
    v_KSH: jax.Array,
    limit_U: jax.Array,
    scale: float,
) -> jax.Array:
  """Each query over the positions up to `limit_U`; -1 sees nothing."""
  U, N, H = q_UNH.shape
  K, S, _ = k_KSH.shape
  position_S = jnp.arange(S)
  q_UKGH = q_UNH.reshape(U, K, N // K, H).astype(jnp.float32)
  score_KGUS = scale * jnp.einsum("UKGH,KSH->KGUS", q_UKGH, k_KSH)
  seen_US = position_S <= limit_U[:, None]
  weight_KGUS = jax.nn.softmax(
      jnp.where(seen_US, score_KGUS, _MASKED), axis=-1
  )
  v_KSH = jnp.where((position_S <= jnp.max(limit_U))[:, None], v_KSH, 0)
  out_UKGH = jnp.einsum("KGUS,KSH->UKGH", weight_KGUS, v_KSH)
  return out_UKGH.reshape(U, N, H).astype(q_UNH.dtype)


def _gather(
    kv_P2KCH: jax.Array, page_BM: jax.Array
) -> tuple[jax.Array, jax.Array]:
  """Keys and values of whole page tables, float32: k_BKSH, v_BKSH."""
  kv_BM2KCH = kv_P2KCH[page_BM].astype(jnp.float32)
  B, M, _, K, C, H = kv_BM2KCH.shape
  kv_2BKMCH = kv_BM2KCH.transpose(2, 0, 3, 1, 4, 5)
  kv_2BKSH = kv_2BKMCH.reshape(2, B, K, M * C, H)
  return kv_2BKSH[0], kv_2BKSH[1]
