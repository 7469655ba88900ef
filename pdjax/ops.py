"""Attention over the paged cache: one call a shape of work.

Each op takes pages of one layer, or of many layers seen as one long pool. The
bodies here are plain XLA; hardware kernels sit behind the same calls. Under
tensor parallelism each device calls them on its own heads.

A context is read in blocks of pages up to the last position any query may
see, with a running softmax in float32 (arXiv 2205.14135), so the cost follows
the true lengths and not the width of the page table.

Cells that a query may not see can hold anything, NaN too: they are masked in
the scores and in the values.

Dimension key: docs/notation.md. Here Q = queries that share a kv head.
"""

import jax
import jax.numpy as jnp

_MASKED = -1e30
"""A finite score, so that a row with nothing to see makes no NaN."""

_DECODE_BLOCK_TOKENS = 256
_PREFILL_BLOCK_TOKENS = 512
"""Context read at a time: few megabytes, which stay in a CPU's cache."""

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
    window: int | None = None,
) -> jax.Array:
  """One query a sequence over its first `length_B` cached tokens.

  Args:
    q_BNH: queries; N is a multiple of K, query head n reads kv head n * K // N.
    kv_P2KCH: pages, the queries' own tokens included.
    page_BM: i32, physical page of each logical page; any page past the end.
    length_B: i32, tokens to attend to; 0 gives zeros.
    scale: multiplies the scores.
    window: only the last so many of them; None is all.

  Returns:
    out_BNH in the type of the queries.
  """
  B, N, H = q_BNH.shape
  K = kv_P2KCH.shape[2]

  def attend(xs):
    q_KGH, page_M, length = xs
    limit_G = jnp.full(N // K, length - 1)
    return _stream(
        q_KGH, limit_G, kv_P2KCH, page_M, scale, window, _DECODE_BLOCK_TOKENS
    )

  q_BKGH = q_BNH.reshape(B, K, N // K, H)
  out_BKGH = _each(attend, (q_BKGH, page_BM, length_B))
  return out_BKGH.reshape(B, N, H).astype(q_BNH.dtype)


def chunk_prefill(
    q_UNH: jax.Array,
    kv_P2KCH: jax.Array,
    page_RM: jax.Array,
    row_U: jax.Array,
    position_U: jax.Array,
    *,
    scale: float,
    window: int | None = None,
) -> jax.Array:
  """Packed prompt tokens of several requests, each over its own past.

  Args:
    q_UNH: queries of all requests, one request after the other.
    kv_P2KCH: pages, the queries' own tokens included.
    page_RM: i32, physical page of each logical page of each request.
    row_U: i32, the request of each query; -1 is padding and gives zeros.
    position_U: i32, a query sees the positions up to its own.
    scale: multiplies the scores.
    window: only the last so many of them, its own included; None is all.

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
        q_UNH, row_U, position_U, kv_P2KCH, page_RM, scale, window
    )

  return _each(attend, blocks).reshape(-1, *q_UNH.shape[1:])[:U]


def _each(attend, xs):
  """One after the other on a CPU, in whose cache they fit, else at once."""
  return jax.lax.platform_dependent(
      xs,
      cpu=lambda xs: jax.lax.map(attend, xs),
      default=lambda xs: jax.vmap(attend)(xs),
  )


def _block_attention(
    q_UNH: jax.Array,
    row_U: jax.Array,
    position_U: jax.Array,
    kv_P2KCH: jax.Array,
    page_RM: jax.Array,
    scale: float,
    window: int | None,
) -> jax.Array:
  """Goes through the requests of a block of queries.

  A query belongs to one request, so results are selected, not merged.
  """
  U, N, H = q_UNH.shape
  K = kv_P2KCH.shape[2]
  G = N // K
  q_KQH = q_UNH.reshape(U, K, G, H).swapaxes(0, 1).reshape(K, U * G, H)
  row_Q, position_Q = jnp.repeat(row_U, G), jnp.repeat(position_U, G)

  def request(r, out_KQH):
    page_M = jax.lax.dynamic_index_in_dim(page_RM, r, keepdims=False)
    limit_Q = jnp.where(row_Q == r, position_Q, -1)
    new_KQH = _stream(
        q_KQH, limit_Q, kv_P2KCH, page_M, scale, window, _PREFILL_BLOCK_TOKENS
    )
    return jnp.where((row_Q == r)[:, None], new_KQH, out_KQH)

  first = jnp.min(jnp.where(row_U < 0, page_RM.shape[0], row_U))
  out_KQH = jax.lax.fori_loop(
      first, jnp.max(row_U) + 1, request, jnp.zeros((K, U * G, H), jnp.float32)
  )
  out_UKGH = out_KQH.reshape(K, U, G, H).swapaxes(0, 1)
  return out_UKGH.reshape(U, N, H).astype(q_UNH.dtype)


def _stream(
    q_KQH: jax.Array,
    limit_Q: jax.Array,
    kv_P2KCH: jax.Array,
    page_M: jax.Array,
    scale: float,
    window: int | None,
    block_tokens: int,
) -> jax.Array:
  """Queries of one request over its context: out_KQH in float32.

  A query sees the positions up to `limit_Q`, or the last `window` of them. If
  that is none, its result is zeros or, where other queries see more,
  meaningless but finite.
  """
  C = kv_P2KCH.shape[3]
  pages = min(page_M.shape[0], max(1, block_tokens // C))
  S = pages * C
  page_M = jnp.pad(page_M, (0, -page_M.shape[0] % pages))
  q_KQH = q_KQH.astype(jnp.float32) * scale
  begin_Q = _begin(limit_Q, window)
  # What any query sees; a query that sees nothing has no say in it.
  end = jnp.max(limit_Q)
  begin = jnp.min(jnp.where(limit_Q < 0, end, begin_Q))

  def block(i, carry):
    top_KQ, sum_KQ, out_KQH = carry
    page_B = jax.lax.dynamic_slice(page_M, (i * pages,), (pages,))
    k_KSH, v_KSH = _gather(kv_P2KCH, page_B)
    position_S = i * S + jnp.arange(S)
    seen_QS = (begin_Q[:, None] <= position_S) & (
        position_S <= limit_Q[:, None]
    )
    score_KQS = jnp.where(
        seen_QS, jnp.einsum("KQH,KSH->KQS", q_KQH, k_KSH), _MASKED
    )
    held_S = (begin <= position_S) & (position_S <= end)
    v_KSH = jnp.where(held_S[:, None], v_KSH, 0)
    new_KQ = jnp.maximum(top_KQ, score_KQS.max(-1))
    keep_KQ = jnp.exp(top_KQ - new_KQ)
    weight_KQS = jnp.exp(score_KQS - new_KQ[..., None])
    return (
        new_KQ,
        sum_KQ * keep_KQ + weight_KQS.sum(-1),
        out_KQH * keep_KQ[..., None]
        + jnp.einsum("KQS,KSH->KQH", weight_KQS, v_KSH),
    )

  zeros_KQ = jnp.zeros(q_KQH.shape[:2], jnp.float32)
  start = (zeros_KQ + _MASKED, zeros_KQ, jnp.zeros_like(q_KQH))
  _, sum_KQ, out_KQH = jax.lax.fori_loop(
      jnp.maximum(begin, 0) // S, end // S + 1, block, start
  )
  # An empty context leaves 0 / 0.
  return out_KQH / jnp.maximum(sum_KQ, 1e-30)[..., None]


def _begin(limit_Q: jax.Array, window: int | None) -> jax.Array:
  """The first position each query sees; may be negative."""
  return jnp.zeros_like(limit_Q) if window is None else limit_Q - window + 1


def _gather(
    kv_P2KCH: jax.Array, page_M: jax.Array
) -> tuple[jax.Array, jax.Array]:
  """Keys and values of pages, float32, S = M * C: k_KSH, v_KSH.

  As rows of a matrix with one row a page, side and head: on a CPU this is
  twice as fast as a gather of whole pages and a transpose.
  """
  P, _, K, C, H = kv_P2KCH.shape
  flat = kv_P2KCH.reshape(P * 2 * K, C * H)
  k_row_KM = page_M * (2 * K) + jnp.arange(K, dtype=jnp.int32)[:, None]
  k_KSH, v_KSH = (
      flat[row_KM].astype(jnp.float32).reshape(K, -1, H)
      for row_KM in (k_row_KM, k_row_KM + K)
  )
  return k_KSH, v_KSH
