"""The contract of `kv_move`: pages out of a cache and into another.

Pages move as they are, or as int8 with a float32 scale for each token, head and
side: half the bytes of bfloat16, less 4 of 2 H a cell.

Dimension key: docs/notation.md; here M = pages moved.
"""

import jax
import jax.numpy as jnp

from pdjax_kernels import pages


def gather_pages(kv_P2KCH: jax.Array, page_M: jax.Array) -> jax.Array:
  """Copies of pages `page_M`: staging_M2KCH."""
  return kv_P2KCH[page_M]


def scatter_pages(
    kv_P2KCH: jax.Array, staging_M2KCH: jax.Array, page_M: jax.Array
) -> jax.Array:
  """The cache with pages `page_M` overwritten; donate it.

  A page that comes up more than once, as a sentinel does, holds rubbish after.
  """
  return kv_P2KCH.at[page_M].set(staging_M2KCH)


def gather_int8(
    kv_P2KCH: jax.Array, page_M: jax.Array
) -> tuple[jax.Array, jax.Array]:
  """Pages rounded to int8: (payload_M2KCH, scale_M2KC in float32)."""
  kv_M2KCH = pages.unpack(kv_P2KCH[page_M]).astype(jnp.float32)
  scale_M2KC = jnp.abs(kv_M2KCH).max(axis=-1) / 127
  unit_M2KCH = kv_M2KCH / jnp.maximum(scale_M2KC, 1e-30)[..., None]
  payload_M2KCH = jnp.round(unit_M2KCH).astype(jnp.int8)
  packed = pages.is_packed(kv_P2KCH)
  return pages.pack(payload_M2KCH) if packed else payload_M2KCH, scale_M2KC


def scatter_int8(
    kv_P2KCH: jax.Array,
    payload_M2KCH: jax.Array,
    scale_M2KC: jax.Array,
    page_M: jax.Array,
) -> jax.Array:
  """The cache with pages `page_M` overwritten by payload * scale; donate it."""
  unit_M2KCH = pages.unpack(payload_M2KCH).astype(jnp.float32)
  kv_M2KCH = unit_M2KCH * scale_M2KC[..., None]
  if pages.is_packed(kv_P2KCH):
    kv_M2KCH = pages.pack(kv_M2KCH)
  return kv_P2KCH.at[page_M].set(kv_M2KCH.astype(kv_P2KCH.dtype))
