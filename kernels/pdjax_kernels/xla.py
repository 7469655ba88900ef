"""Attention over pages in plain XLA: what runs where no kernel does.

A context is read in blocks of pages up to the last position any query may
see, with a running softmax in float32 (arXiv 2205.14135), so the cost follows
the true lengths and not the width of the page table. The contracts are those
of each kernel's reference.py.

Dimension key: docs/notation.md. Here Q = queries that share a kv head, Y =
pages of a block.
"""

import functools

import jax
import jax.numpy as jnp

from pdjax_kernels import pages, rows
from pdjax_kernels.kv_write import reference
from pdjax_kernels.paged_decode.reference import first_seen

_MASKED = -1e30
"""A finite score, so that a row with nothing to see makes no NaN."""

_DECODE_BLOCK_TOKENS = 256
_PREFILL_BLOCK_TOKENS = 128
"""Context read at a time: few megabytes, which stay in a CPU's cache."""

_STRETCH_TOKENS = 64
_STRETCHES = 16
"""On a CPU, contexts of decodes are read in such stretches, so many at a time:
enough work for all cores in every operation, and little read in vain."""

_QUERY_BLOCK = 128
"""Prompt tokens that attend together; rows of one request fill most blocks."""


def kv_write(
    kv_P2KCH: jax.Array,
    k_TKH: jax.Array,
    v_TKH: jax.Array,
    page_T: jax.Array,
    cell_T: jax.Array,
) -> jax.Array:
  """See kv_write/reference.py.

  Where cells might come up twice, XLA's GPU compiler stores each bfloat16 by a
  compare-and-swap of the word around it. Only sentinels' do, which nobody
  reads; told that none does, it stores.

  Of a lone token XLA's CPU compiler makes no loop but an update that it fuses
  into what reads the cache, once for each reader, and copies the cache for
  each. So that token is written twice.
  """
  new_T2KH = reference.of_cells(kv_P2KCH, k_TKH, v_TKH)

  def put(kv_P2KCH, new_T2KH, page_T, cell_T, *, unique=False):
    return kv_P2KCH.at[page_T, :, :, cell_T].set(
        new_T2KH, unique_indices=unique
    )

  def put_in_a_loop(kv_P2KCH, *written):
    if page_T.shape[0] == 1:
      written = [jnp.concatenate([x, x]) for x in written]
    return put(kv_P2KCH, *written)

  return jax.lax.platform_dependent(
      kv_P2KCH, new_T2KH, page_T, cell_T,
      cuda=functools.partial(put, unique=True), cpu=put_in_a_loop, default=put,
  )


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
) -> tuple[jax.Array, jax.Array]:
  """See paged_decode/reference.py."""
  B, N, H = q_BNH.shape
  K = kv_P2KCH.shape[2]
  windowed = first_B is not None or window is not None
  first_B = first_seen(length_B, first_B, window)

  def alone(q_KGH, page_M, first, length):
    seen_Q2 = jnp.full((N // K, 2), jnp.stack([first, length]))
    return _stream(
        q_KGH, seen_Q2, kv_P2KCH, page_M, scale, soft_cap,
        _DECODE_BLOCK_TOKENS,
    )

  def together(q_BKGH, page_BM, first_B, length_B):
    return rows.attend(
        q_BKGH, page_BM, first_B if windowed else None, length_B, kv_P2KCH,
        scale=scale, soft_cap=soft_cap, stretch_tokens=_STRETCH_TOKENS,
        stretches=min(_STRETCHES, 4 * B),
    )

  q_BKGH = q_BNH.reshape(B, K, N // K, H)
  out_BKGH, lse_BKG = jax.lax.platform_dependent(
      q_BKGH, page_BM, first_B, length_B, cpu=together,
      default=jax.vmap(alone),
  )
  out_BNH = out_BKGH.reshape(B, N, H).astype(q_BNH.dtype)
  return out_BNH, lse_BKG.reshape(B, N)


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
) -> tuple[jax.Array, jax.Array]:
  """See chunk_prefill/reference.py."""
  U, N, _ = q_UNH.shape
  if U == 0:
    return q_UNH, jnp.zeros((0, N))
  block = min(U, _QUERY_BLOCK)
  pad = -U % block
  q_UNH = jnp.pad(q_UNH, ((0, pad), (0, 0), (0, 0)))
  row_U = jnp.pad(row_U, (0, pad), constant_values=-1)
  end_U = jnp.pad(position_U, (0, pad)) + 1
  seen_U2 = jnp.stack([first_seen(end_U, None, window), end_U], axis=1)
  blocks = jax.tree.map(
      lambda x: x.reshape(-1, block, *x.shape[1:]), (q_UNH, row_U, seen_U2)
  )

  def attend(q_UNH, row_U, seen_U2):
    return _block_attention(
        q_UNH, row_U, seen_U2, kv_P2KCH, page_RM, scale, soft_cap
    )

  out = _each(attend, *blocks)
  out_UNH, lse_UN = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[:U], out)
  return out_UNH, lse_UN


def _each(attend, q_XUNH: jax.Array, *rest_XU: jax.Array):
  """One after the other on a CPU, in whose cache they fit, else at once.

  There an output takes its queries' place: `lax.map` would fill an array with
  zeros first, once a layer.
  """

  def in_turn(q_XUNH, *rest_XU):
    def one(x, done):
      out_XUNH, lse_XUN = done
      out_UNH, lse_UN = attend(out_XUNH[x], *(rest_U[x] for rest_U in rest_XU))
      return out_XUNH.at[x].set(out_UNH), lse_XUN.at[x].set(lse_UN)

    lse_XUN = jnp.zeros(q_XUNH.shape[:3], jnp.float32)
    return jax.lax.fori_loop(0, q_XUNH.shape[0], one, (q_XUNH, lse_XUN))

  return jax.lax.platform_dependent(
      q_XUNH, *rest_XU, cpu=in_turn, default=jax.vmap(attend)
  )


def _block_attention(
    q_UNH: jax.Array,
    row_U: jax.Array,
    seen_U2: jax.Array,
    kv_P2KCH: jax.Array,
    page_RM: jax.Array,
    scale: float,
    soft_cap: float | None,
) -> tuple[jax.Array, jax.Array]:
  """Goes through the requests of a block of queries.

  A query belongs to one request, so results are selected, not merged.
  """
  U, N, H = q_UNH.shape
  K = kv_P2KCH.shape[2]
  G = N // K
  q_KQH = q_UNH.reshape(U, K, G, H).swapaxes(0, 1).reshape(K, U * G, H)
  row_Q, seen_Q2 = jnp.repeat(row_U, G), jnp.repeat(seen_U2, G, axis=0)

  def request(r, done):
    page_M = jax.lax.dynamic_index_in_dim(page_RM, r, keepdims=False)
    mine_Q = row_Q == r
    out_KQH, lse_KQ = _stream(
        q_KQH, jnp.where(mine_Q[:, None], seen_Q2, 0), kv_P2KCH, page_M,
        scale, soft_cap, _PREFILL_BLOCK_TOKENS,
    )
    return (
        jnp.where(mine_Q[:, None], out_KQH, done[0]),
        jnp.where(mine_Q, lse_KQ, done[1]),
    )

  nothing = (
      jnp.zeros((K, U * G, H), jnp.float32),
      jnp.full((K, U * G), -jnp.inf, jnp.float32),
  )
  first = jnp.min(jnp.where(row_U < 0, page_RM.shape[0], row_U))
  out_KQH, lse_KQ = jax.lax.fori_loop(
      first, jnp.max(row_U) + 1, request, nothing
  )
  out_UKGH = out_KQH.reshape(K, U, G, H).swapaxes(0, 1)
  lse_UKG = lse_KQ.reshape(K, U, G).swapaxes(0, 1)
  out_UNH = out_UKGH.reshape(U, N, H).astype(q_UNH.dtype)
  return out_UNH, lse_UKG.reshape(U, N)


def _stream(
    q_KQH: jax.Array,
    seen_Q2: jax.Array,
    kv_P2KCH: jax.Array,
    page_M: jax.Array,
    scale: float,
    soft_cap: float | None,
    block_tokens: int,
) -> tuple[jax.Array, jax.Array]:
  """Queries of one request over its context: out_KQH, lse_KQ in float32.

  A query sees positions from `seen_Q2[:, 0]` up to `seen_Q2[:, 1]`, which is
  left out. If that is none, its output is zeros or, where other queries see
  more, meaningless but finite.
  """
  C = kv_P2KCH.shape[3]
  Y = min(page_M.shape[0], max(1, block_tokens // C))
  S = Y * C
  page_M = jnp.pad(page_M, (0, -page_M.shape[0] % Y))
  q_KQH = q_KQH.astype(jnp.float32) * scale
  begin_Q, end_Q = seen_Q2[:, 0], seen_Q2[:, 1]
  # What any query sees; a query that sees nothing has no say in it.
  end = jnp.max(end_Q)
  begin = jnp.min(jnp.where(begin_Q < end_Q, begin_Q, end))

  def block(i, carry):
    top_KQ, sum_KQ, out_KQH = carry
    page_B = jax.lax.dynamic_slice(page_M, (i * Y,), (Y,))
    k_KSH, v_KSH = _gather(kv_P2KCH, page_B)
    position_S = i * S + jnp.arange(S)
    seen_QS = (begin_Q[:, None] <= position_S) & (position_S < end_Q[:, None])
    score_KQS = jnp.einsum("KQH,KSH->KQS", q_KQH, k_KSH)
    if soft_cap is not None:
      score_KQS = soft_cap * jnp.tanh(score_KQS / soft_cap)
    score_KQS = jnp.where(seen_QS, score_KQS, _MASKED)
    held_S = (begin <= position_S) & (position_S < end)
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
  top_KQ, sum_KQ, out_KQH = jax.lax.fori_loop(
      jnp.maximum(begin, 0) // S, (end + S - 1) // S, block, start
  )
  lse_KQ = jnp.where(
      top_KQ > 0.5 * _MASKED, top_KQ + jnp.log(sum_KQ), -jnp.inf
  )
  # An empty context leaves 0 / 0.
  return out_KQH / jnp.maximum(sum_KQ, 1e-30)[..., None], lse_KQ


def _gather(
    kv_P2KCH: jax.Array, page_M: jax.Array
) -> tuple[jax.Array, jax.Array]:
  """Keys and values of pages, float32, S = M * C: k_KSH, v_KSH.

  As rows of a matrix with one row a page, side and head: on a CPU this is
  twice as fast as a gather of whole pages and a transpose.
  """
  P, pair, K, C, W = kv_P2KCH.shape
  flat = kv_P2KCH.reshape(P * pair * K, C * W)
  k_row_KM = page_M * (pair * K) + jnp.arange(K, dtype=jnp.int32)[:, None]

  def cells(row_KM):
    return flat[row_KM].astype(jnp.float32).reshape(K, -1, W)

  if pages.is_packed(kv_P2KCH):
    k_KSH, v_KSH = jnp.split(cells(k_row_KM), 2, axis=-1)
    return k_KSH, v_KSH
  return cells(k_row_KM), cells(k_row_KM + K)
