"""The contract of `paged_decode`, and the oracle of its tests."""

import jax
import jax.numpy as jnp

from pdjax_kernels import pages


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
  """One query a sequence, at the last of its cached positions.

  Args:
    q_BNH: queries; N is a multiple of K, query head n reads kv head n * K // N.
    kv_P2KCH: pages in either form (`pages`), the queries' own tokens included.
      What lies in cells that no query may see is never used, NaN too.
    page_BM: i32, physical page of each logical page; any page past the end.
    length_B: i32, tokens in the cache; 0 is an empty slot.
    scale: multiplies the scores.
    first_B: i32, positions before it are left out: for parts of a context
      that `merge_states` puts together. None is 0.
    window: a query sees that many positions, its own included; None is all.
    soft_cap: scores become soft_cap * tanh(score / soft_cap).

  Returns:
    (out_BNH in the type of the queries, lse_BN in float32: the logarithm of
    the sum of exp(score)). Where nothing is seen: zeros and -inf.
  """
  B, N, H = q_BNH.shape
  k_BKSH, v_BKSH = pages.context(kv_P2KCH, page_BM)
  q_BKGH = q_BNH.reshape(B, k_BKSH.shape[1], -1, H).astype(jnp.float32)
  score_BKGS = jnp.einsum("BKGH,BKSH->BKGS", q_BKGH, k_BKSH) * scale
  if soft_cap is not None:
    score_BKGS = soft_cap * jnp.tanh(score_BKGS / soft_cap)
  seen_BS = seen(k_BKSH.shape[2], length_B, first_B, window)
  score_BKGS = jnp.where(seen_BS[:, None, None], score_BKGS, -jnp.inf)
  v_BKSH = jnp.where(seen_BS[:, None, :, None], v_BKSH, 0)
  lse_BKG = jax.nn.logsumexp(score_BKGS, axis=-1)
  weight_BKGS = jnp.exp(score_BKGS - jnp.maximum(lse_BKG, -1e30)[..., None])
  out_BKGH = jnp.einsum("BKGS,BKSH->BKGH", weight_BKGS, v_BKSH)
  return out_BKGH.reshape(B, N, H).astype(q_BNH.dtype), lse_BKG.reshape(B, N)


def seen(
    S: int, length_B: jax.Array, first_B: jax.Array | None, window: int | None
) -> jax.Array:
  """Which positions a query sees: seen_BS."""
  position_S = jnp.arange(S)
  first_B = first_seen(length_B, first_B, window)
  return (position_S < length_B[:, None]) & (position_S >= first_B[:, None])


def first_seen(
    length_B: jax.Array, first_B: jax.Array | None, window: int | None
) -> jax.Array:
  """First position that each query sees."""
  first_B = jnp.zeros_like(length_B) if first_B is None else first_B
  if window is None:
    return first_B
  return jnp.maximum(first_B, length_B - window)
