"""Pages on their way as int8: rounded on the source, restored on the target.

Each key and value of a head has a scale of its own, so a value is off by at
most a 254th of the largest of its vector. Of float32 pages about a quarter of
the bytes travel, of bfloat16 about half.

Dimension key: docs/notation.md. Units: `_bytes` bytes.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from pdjax import kv, ops
from pdjax import mesh as meshes

SCALE_AXES = kv.POOL_AXES[:-1]


class Rounded(NamedTuple):
  """Pages off a pool, with as many heads as it has; or how they lie."""

  payload_LM2KCH: Any
  """int8"""
  scale_LM2KC: Any
  """float32"""


def page_bytes(config: kv.KVPoolConfig) -> int:
  """Of one page through all layers, copies of heads included."""
  values = config.page_bytes // jnp.dtype(config.dtype).itemsize
  return values + 4 * values // config.head_dim


def empty(
    config: kv.KVPoolConfig, L: int, pages: int, heads: int
) -> Rounded:
  """L layers of pages of zeros, on the host."""
  _, _, pair, _, C, H = config.shape
  return Rounded(
      np.zeros((L, pages, pair, heads, C, H), np.int8),
      np.zeros((L, pages, 2, heads, C), np.float32),
  )


def shardings(mesh: Mesh, heads: int) -> Rounded:
  """How pages with that many heads lie on a mesh where they arrive."""
  whole = meshes.replicated(mesh)
  if heads % mesh.size:
    return Rounded(whole, whole)
  return Rounded(kv.pool_sharding(mesh), meshes.sharding(mesh, SCALE_AXES))


def gather(
    pool_LP2KCH: jax.Array,
    page_M: jax.Array,
    layer_L: jax.Array,
    mesh: Mesh,
    kernels: ops.Kernels,
) -> Rounded:
  """Copies layers of pages out; each device rounds its own heads."""
  rounded = jax.shard_map(
      functools.partial(_gather, kernels=kernels), mesh=mesh,
      in_specs=(_PAGES, _WHOLE, _WHOLE), out_specs=(_PAGES, _SCALES),
      check_vma=False,
  )
  return Rounded(*rounded(pool_LP2KCH, page_M, layer_L))


def scatter(
    pool_LP2KCH: jax.Array,
    staging: Rounded,
    page_M: jax.Array,
    layer_L: jax.Array,
    mesh: Mesh,
    kernels: ops.Kernels,
) -> jax.Array:
  """The pool with layers of pages overwritten; jit it with the pool donated.

  The staging arrays may have another number of head copies than the pool, see
  `kv.scatter_pages`. The sentinel holds rubbish after.
  """
  heads, have = pool_LP2KCH.shape[3], staging.payload_LM2KCH.shape[3]
  if heads != have:
    source_K = np.arange(heads) * have // heads
    staging = Rounded(*(part[:, :, :, source_K] for part in staging))
  return jax.shard_map(
      functools.partial(_scatter, kernels=kernels), mesh=mesh,
      in_specs=(_PAGES, _PAGES, _SCALES, _WHOLE, _WHOLE), out_specs=_PAGES,
      check_vma=False,
  )(pool_LP2KCH, *staging, page_M, layer_L)


def restored(staging: Rounded, dtype: str) -> jax.Array:
  """What a target makes of pages: staging_LM2KCH."""
  L, M = staging.payload_LM2KCH.shape[:2]
  zeros = jnp.zeros(staging.payload_LM2KCH.shape, dtype)
  every_M, every_L = (jnp.arange(n, dtype=jnp.int32) for n in (M, L))
  return _scatter(zeros, *staging, every_M, every_L, kernels=ops.XLA)


_PAGES = meshes.partition(kv.POOL_AXES)
_SCALES = meshes.partition(SCALE_AXES)
_WHOLE = PartitionSpec()


def _gather(pool_LP2KCH, page_M, layer_L, *, kernels):
  """On one device. All layers' pages are one long pool: page l * P + p."""
  where = _in_each_layer(page_M, layer_L, pool_LP2KCH.shape[1])
  parts = ops.gather_int8(_joined(pool_LP2KCH), where, kernels=kernels)
  L = layer_L.shape[0]
  return tuple(part.reshape(L, -1, *part.shape[1:]) for part in parts)


def _scatter(
    pool_LP2KCH, payload_LM2KCH, scale_LM2KC, page_M, layer_L, *, kernels
):
  P = pool_LP2KCH.shape[1]
  kv_P2KCH = ops.scatter_int8(
      _joined(pool_LP2KCH), _joined(payload_LM2KCH), _joined(scale_LM2KC),
      _in_each_layer(page_M, layer_L, P), kernels=kernels,
  )
  return kv_P2KCH.reshape(pool_LP2KCH.shape)


def _joined(x_LP: jax.Array) -> jax.Array:
  return x_LP.reshape(-1, *x_LP.shape[2:])


def _in_each_layer(
    page_M: jax.Array, layer_L: jax.Array, P: int
) -> jax.Array:
  return (P * layer_L[:, None] + page_M).reshape(-1)
