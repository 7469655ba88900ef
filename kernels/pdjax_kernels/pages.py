"""What a page looks like, in either of two forms.

    pair    [P, 2, K, C, H]       keys, then values
    packed  [P, 1, K, C, 2 H]     a cell's key and value side by side

On TPU the last axis fills lanes of 128. Heads of 64 therefore live packed: as
a pair XLA would copy the whole cache around every kernel. The kernels read a
packed page as if keys and values were the same array of width 2 H: zeros
behind a query leave the values out of its scores, and of a weighted sum of
cells the last H lanes are the output.

Dimension key: docs/notation.md; W is the width of a cell, H or 2 H.
"""

import jax
import jax.numpy as jnp

LANES = 128
"""Width of a TPU vector register."""


def is_packed(kv_P2KCH: jax.Array) -> bool:
  return kv_P2KCH.shape[1] == 1


def pack(kv_P2KCH: jax.Array) -> jax.Array:
  """The packed form of a pair: kv_P1KCW."""
  return jnp.concatenate([kv_P2KCH[:, :1], kv_P2KCH[:, 1:]], axis=-1)


def unpack(kv_P2KCH: jax.Array) -> jax.Array:
  """The pair, whichever form is given."""
  if not is_packed(kv_P2KCH):
    return kv_P2KCH
  return jnp.concatenate(jnp.split(kv_P2KCH, 2, axis=-1), axis=1)


def context(
    kv_P2KCH: jax.Array, page_BM: jax.Array
) -> tuple[jax.Array, jax.Array]:
  """Keys and values of each sequence, float32: k_BKSH, v_BKSH; S = M * C."""
  kv_BM2KCH = jax.vmap(lambda page_M: unpack(kv_P2KCH[page_M]))(page_BM)
  B, M, _, K, C, H = kv_BM2KCH.shape
  kv_2BKSH = jnp.moveaxis(kv_BM2KCH, (2, 3), (0, 2)).reshape(2, B, K, M * C, H)
  k_BKSH, v_BKSH = kv_2BKSH.astype(jnp.float32)
  return k_BKSH, v_BKSH


def widened(q_BNH: jax.Array, kv_P2KCH: jax.Array) -> jax.Array:
  """Queries as wide as a cell, zeros behind: q_BNW."""
  W = kv_P2KCH.shape[-1]
  return jnp.pad(q_BNH, ((0, 0), (0, 0), (0, W - q_BNH.shape[-1])))
