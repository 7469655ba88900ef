"""The contract of `chunk_prefill`, and the oracle of its tests."""

import jax
import jax.numpy as jnp

from pdjax_kernels.paged_decode.reference import paged_decode


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
  """Packed chunks of prompts, each token over its own past and itself.

  A token of a chunk is a decode at its position: that is the definition.

  Args:
    q_UNH: queries. Those of a row stand together, at positions one after the
      other, and rows in ascending order; padding may stand anywhere.
    kv_P2KCH: pages in either form (`pages`), the chunks' own tokens included.
    page_RM: i32, physical page of each logical page of each row.
    row_U: i32, the row of each token; -1 is padding.
    position_U: i32, in the sequence; a token sees positions up to its own.
    scale: multiplies the scores.
    window: a token sees that many positions, its own included; None is all.
    soft_cap: scores become soft_cap * tanh(score / soft_cap).

  Returns:
    (out_UNH in the type of the queries, lse_UN in float32); zeros and -inf
    for padding.
  """
  return paged_decode(
      q_UNH, kv_P2KCH, page_RM[row_U], jnp.where(row_U < 0, 0, position_U + 1),
      scale=scale, window=window, soft_cap=soft_cap,
  )
