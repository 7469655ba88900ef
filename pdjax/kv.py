"""The paged cache of keys and values of one worker, and what a pass reads.

The pool is one array `[L, P, 2, K, C, H]`: for every layer P pages, each a
contiguous record of C tokens' keys and values. Page 0 is the sentinel: padding
rows write there and nothing is ever read from it. Which request owns which
page is `pdjax.pages`' business, not this module's.

Where the mesh has more devices than the model has kv heads, heads are stored
in copies, one a device: K counts the copies too, and physical head j holds the
model's head `j // copies`.

Dimension key: docs/notation.md. Units: `_bytes` bytes, `_tokens` tokens.
"""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding

from pdjax import mesh as meshes

POOL_AXES = ("layers", "pages", "pair", "kv_heads", "cells", "head")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class KVPoolConfig:
  """Sizes one worker's paged KV cache."""

  num_layers: int
  num_kv_heads: int
  """Of the model, without copies."""
  head_dim: int
  num_pages: int
  """With the sentinel page 0."""
  page_tokens: int = 16
  """Tokens in one page: the unit of allocation and of transfer."""
  tp: int = 1
  dtype: str = "float32"
  packed: bool = False
  """Key and value of a cell side by side (`pdjax_kernels.pages`)."""

  def __post_init__(self):
    if self.num_pages < 2:
      raise ValueError(f"{self.num_pages=}: page 0 is the sentinel, add more")
    if self.tp % self.num_kv_heads and self.num_kv_heads % self.tp:
      raise ValueError(f"{self.tp=} does not fit {self.num_kv_heads=}")

  @property
  def head_copies(self) -> int:
    """Physical heads per head of the model."""
    return max(1, self.tp // self.num_kv_heads)

  @property
  def shape(self) -> tuple[int, int, int, int, int, int]:
    """[L, P, 2, K, C, H], or [L, P, 1, K, C, 2 H]."""
    return (
        self.num_layers,
        self.num_pages,
        1 if self.packed else 2,
        self.num_kv_heads * self.head_copies,
        self.page_tokens,
        self.head_dim * (2 if self.packed else 1),
    )

  @property
  def page_bytes(self) -> int:
    """One page through all layers, copies of heads included."""
    values = int(np.prod(self.shape)) // self.num_pages
    return values * jnp.dtype(self.dtype).itemsize

  @property
  def pool_bytes(self) -> int:
    """The whole pool over all devices."""
    return self.page_bytes * self.num_pages


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
  """The inputs of one pass; all shapes are static buckets, all values int32.

  Token rows 0 .. B-1 are decodes, rows B .. T-1 prompt tokens (U = T - B) of
  up to R requests, packed. B or U may be 0. A context position s of a request
  lies in cell `s % C` of its page `page_M[s // C]`.
  """

  token_T: jax.Array
  position_T: jax.Array
  page_T: jax.Array
  """Page each token's key and value are written to; 0 for padding."""
  cell_T: jax.Array
  decode_page_BM: jax.Array
  decode_length_B: jax.Array
  """Context with the token being fed; 0 is an empty slot."""
  chunk_page_RM: jax.Array
  chunk_row_U: jax.Array
  """Row of `chunk_page_RM` a prompt token belongs to; -1 for padding."""
  logit_S: jax.Array
  """Rows of T whose logits are wanted."""

  @property
  def num_decodes(self) -> int:
    """B."""
    return self.decode_length_B.shape[0]


def pool_sharding(mesh: Mesh) -> NamedSharding:
  """Of the pool: split along its (physical) heads."""
  return meshes.sharding(mesh, POOL_AXES)


def pool_maker(
    config: KVPoolConfig, mesh: Mesh
) -> Callable[[], jax.Array]:
  """Makes empty pools, pool_LP2KCH on the mesh, and compiles nothing more.

  Raises:
    ValueError: the mesh has another number of devices than `config.tp`.
  """
  if mesh.size != config.tp:
    raise ValueError(f"{config.tp=} on a mesh of {mesh.size} devices")
  zeros = functools.partial(jnp.zeros, config.shape, config.dtype)
  where = pool_sharding(mesh)
  return jax.jit(zeros, out_shardings=where).lower().compile()


def new_pool(config: KVPoolConfig, mesh: Mesh) -> jax.Array:
  """An empty pool_LP2KCH on the mesh; raises as `pool_maker`."""
  return pool_maker(config, mesh)()


def gather_pages(pool_LP2KCH: jax.Array, page_M: jax.Array) -> jax.Array:
  """Copies pages out of the pool: staging_LM2KCH.

  Bucketed callers pad `page_M` with the sentinel.
  """
  return pool_LP2KCH[:, page_M]


def gather_layers(
    pool_LP2KCH: jax.Array, page_M: jax.Array, layer_L: jax.Array
) -> jax.Array:
  """Copies some layers of pages out of the pool: staging_LM2KCH of these."""
  return pool_LP2KCH[layer_L[:, None], page_M]


def staging_sharding(mesh: Mesh, heads: int) -> NamedSharding:
  """Of a staging array with `heads` physical heads that lands on `mesh`.

  Split along the heads where they divide, else whole on each device; then
  `scatter_pages` makes or drops copies.
  """
  if heads % mesh.size:
    return meshes.replicated(mesh)
  return pool_sharding(mesh)


def scatter_pages(
    pool_LP2KCH: jax.Array,
    staging_LM2KCH: jax.Array,
    page_M: jax.Array,
    layer_L: jax.Array | None = None,
) -> jax.Array:
  """The pool with pages `page_M` overwritten; jit it with the pool donated.

  Sentinels among them are left as they are. The staging array may have another
  number of head copies than the pool, and only layers `layer_L`.
  """
  heads, have = pool_LP2KCH.shape[3], staging_LM2KCH.shape[3]
  if heads != have:
    # Physical head j of `heads` holds the same head as j * have // heads of
    # `have`: both are the model's heads, each repeated equally often.
    source_K = np.arange(heads) * have // heads
    staging_LM2KCH = staging_LM2KCH[:, :, :, source_K]
  # Padding goes past the pool, where nothing is stored: then no page comes up
  # twice, and a GPU need not store by compare-and-swap (kernels/README.md).
  P, M = pool_LP2KCH.shape[1], page_M.shape[0]
  past_M = P + jnp.arange(M, dtype=page_M.dtype)
  where_M = jnp.where(page_M == 0, past_M, page_M)
  places = pool_LP2KCH.at[:, where_M]
  if layer_L is not None:
    places = pool_LP2KCH.at[layer_L[:, None], where_M]
  return places.set(staging_LM2KCH, mode="drop", unique_indices=True)
