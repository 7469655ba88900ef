"""The contract of `kv_write`, and the oracle of its tests."""

import jax
import jax.numpy as jnp

from pdjax_kernels import pages


def kv_write(
    kv_P2KCH: jax.Array,
    k_TKH: jax.Array,
    v_TKH: jax.Array,
    page_T: jax.Array,
    cell_T: jax.Array,
) -> jax.Array:
  """The cache with each token's key and value in its cell.

  Args:
    kv_P2KCH: pages in either form (`pages`); donate it.
    k_TKH: keys, rounded to the type of the cache.
    v_TKH: values.
    page_T: i32. A page belongs to one sequence, whose tokens stand one after
      the other; a sentinel page may come up anywhere and holds rubbish after.
    cell_T: i32, cell of the page.
  """
  new_T2KH = of_cells(kv_P2KCH, k_TKH, v_TKH)
  return kv_P2KCH.at[page_T, :, :, cell_T].set(new_T2KH)


def of_cells(
    kv_P2KCH: jax.Array, k_TKH: jax.Array, v_TKH: jax.Array
) -> jax.Array:
  """Each token as the cache holds it: new_T2KH, or new_T1KW where packed."""
  new_T2KH = jnp.stack([k_TKH, v_TKH], axis=1).astype(kv_P2KCH.dtype)
  return pages.pack(new_T2KH) if pages.is_packed(kv_P2KCH) else new_T2KH
