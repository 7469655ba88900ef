"""Decodes of several sequences at once in plain XLA, for a CPU.

A query is one row: a product with the keys reads each of them once and does
little with it. So scores and outputs are sums of products, which XLA fuses and
shares out among the cores, instead of matrix products, which would lay the keys
out anew first.

Contexts are cut into stretches of a few pages. Those that a query sees whole
are listed, one sequence behind the other, and read so many at a time, whoever
they belong to: nobody waits for a longer sequence, and nothing is masked. The
stretches at the ends of what a query sees are read by themselves, with masks.
What comes of each is put together as in a running softmax, in float32 (arXiv
2205.14135).

Dimension key: docs/notation.md. Here E = stretches read at a time, Y = pages
of one, S = their tokens.
"""

import functools

import jax
import jax.numpy as jnp

from pdjax_kernels import pages

MASKED = -1e30
"""A finite score, so that a row with nothing to see makes no NaN."""

Part = tuple[jax.Array, jax.Array, jax.Array]
"""Of a softmax over part of a context, for each query: the best score, the sum
of exp(score - best), and the values' sum weighted so."""


def attend(
    q_BKGH: jax.Array,
    page_BM: jax.Array,
    first_B: jax.Array | None,
    length_B: jax.Array,
    kv_P2KCH: jax.Array,
    *,
    scale: float,
    soft_cap: float | None,
    stretch_tokens: int,
    stretches: int,
) -> tuple[jax.Array, jax.Array]:
  """One query a sequence over its positions from first to length.

  Args:
    first_B: None where all see their contexts from the beginning.
    stretch_tokens: of one stretch, in whole pages.
    stretches: that are read at a time.

  Returns:
    out_BKGH and lse_BKG, float32; zeros and -inf where there is nothing to
    see.
  """
  B, C = q_BKGH.shape[0], kv_P2KCH.shape[3]
  Y = max(1, min(page_BM.shape[1], stretch_tokens // C))
  page_BM = jnp.pad(page_BM, ((0, 0), (0, -page_BM.shape[1] % Y)))
  page_BMY = page_BM.reshape(B, -1, Y)
  q_BKGH = q_BKGH.astype(jnp.float32) * scale
  read = functools.partial(_part, kv_P2KCH, soft_cap)

  def pages_of(row_E, at_E):  # the end of a full context is past its table
    return page_BMY.at[row_E, at_E].get(mode="clip")

  def end(at_B):
    seen_BS = _seen(at_B, first_B, length_B, Y * C)
    return read(q_BKGH, pages_of(jnp.arange(B), at_B), seen_BS)

  last_B = length_B // (Y * C)
  done, whole_B = end(last_B), jnp.zeros_like(last_B)
  if first_B is not None:
    at_B = jnp.maximum(first_B, 0) // (Y * C)
    row_B = jnp.where(at_B < last_B, jnp.arange(B), B)
    done, whole_B = _with(done, row_B, end(at_B)), at_B + 1
  upto_B = jnp.cumsum(jnp.maximum(last_B - whole_B, 0))

  def some(i, done):
    number_E = i * stretches + jnp.arange(stretches)
    row_E = jnp.sum(upto_B <= number_E[:, None], axis=1)
    own_E = jnp.minimum(row_E, B - 1)
    page_EY = pages_of(own_E, last_B[own_E] - upto_B[own_E] + number_E)
    return _with(done, row_E, read(q_BKGH[own_E], page_EY, None))

  times = -(-upto_B[-1] // stretches)
  return _result(*jax.lax.fori_loop(0, times, some, done))


def _seen(
    at_B: jax.Array, first_B: jax.Array | None, length_B: jax.Array, S: int
) -> jax.Array:
  """Which positions of their stretch the queries see: seen_BS."""
  position_BS = at_B[:, None] * S + jnp.arange(S)
  seen_BS = position_BS < length_B[:, None]
  if first_B is None:
    return seen_BS
  return seen_BS & (first_B[:, None] <= position_BS)


def _part(
    kv_P2KCH: jax.Array,
    soft_cap: float | None,
    q_EKGH: jax.Array,
    page_EY: jax.Array,
    seen_ES: jax.Array | None,
) -> Part:
  """Of each query over one stretch, or what it sees of that."""
  k_EKSH, v_EKSH = cells(kv_P2KCH, page_EY)
  score_EKGS = jnp.sum(q_EKGH[:, :, :, None] * k_EKSH[:, :, None], axis=-1)
  if soft_cap is not None:
    score_EKGS = soft_cap * jnp.tanh(score_EKGS / soft_cap)
  if seen_ES is not None:
    score_EKGS = jnp.where(seen_ES[:, None, None], score_EKGS, MASKED)
    v_EKSH = jnp.where(seen_ES[:, None, :, None], v_EKSH, 0)
  best_EKG = score_EKGS.max(-1)
  weight_EKGS = jnp.exp(score_EKGS - best_EKG[..., None])
  out_EKGH = jnp.sum(weight_EKGS[..., None] * v_EKSH[:, :, None], axis=3)
  return best_EKG, weight_EKGS.sum(-1), out_EKGH


def _with(done: Part, row_E: jax.Array, more: Part) -> Part:
  """All rows, some of them with more parts; rows past the last are nobody's."""
  best_BKG = done[0].at[row_E].max(more[0], mode="drop")
  old_BKG = jnp.exp(done[0] - best_BKG)
  own_EKG = best_BKG.at[row_E].get(mode="clip")
  new_EKG = jnp.exp(more[0] - own_EKG)
  sum_BKG = (done[1] * old_BKG).at[row_E].add(more[1] * new_EKG, mode="drop")
  out_BKGH = (done[2] * old_BKG[..., None]).at[row_E].add(
      more[2] * new_EKG[..., None], mode="drop"
  )
  return best_BKG, sum_BKG, out_BKGH


def _result(
    best_BKG: jax.Array, sum_BKG: jax.Array, out_BKGH: jax.Array
) -> tuple[jax.Array, jax.Array]:
  lse_BKG = jnp.where(
      best_BKG > 0.5 * MASKED, best_BKG + jnp.log(sum_BKG), -jnp.inf
  )
  return out_BKGH / sum_BKG[..., None], lse_BKG


def cells(
    kv_P2KCH: jax.Array, page_EY: jax.Array
) -> tuple[jax.Array, jax.Array]:
  """Keys and values of pages, float32, S = Y * C: k_EKSH, v_EKSH.

  As rows of a matrix with one row a page, side and head. The list of rows is
  flat: XLA's CPU compiler writes a gather's innermost axis out, and one as
  short as a head is copied number by number, a whole row in vectors.
  """
  P, pair, K, C, W = kv_P2KCH.shape
  E, Y = page_EY.shape
  flat = kv_P2KCH.reshape(P * pair * K, C * W)
  k_row_EKY = (
      page_EY[:, None] * (pair * K) + jnp.arange(K, dtype=jnp.int32)[:, None]
  )

  def read(row_EKY):
    row_X = row_EKY.reshape(-1)
    return flat[row_X].astype(jnp.float32).reshape(E, K, Y * C, W)

  if pages.is_packed(kv_P2KCH):
    k_EKSH, v_EKSH = jnp.split(read(k_row_EKY), 2, axis=-1)
    return k_EKSH, v_EKSH
  return read(k_row_EKY), read(k_row_EKY + K)
