"""A model on a mesh, its weights read straight into their place.

A source makes one declared weight at a time. Each device's part is read and
converted by itself, and a weight larger than `PIECE_BYTES` goes up a few
layers at a time, so the host never holds a second copy of the model.
"""

import concurrent.futures
import functools
import math
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding

from pdjax import config, ops
from pdjax import mesh as meshes
from pdjax.models import checkpoint
from pdjax.models.drawn import Drawn
from pdjax.models.orbax_folder import OrbaxFolder
from pdjax.models.spec import ModelSpec
from pdjax.models.transformer import Transformer
from pdjax.models.weight import Source, Weight

PIECE_BYTES = 16 << 20
"""Of a weight, over all devices, that pass through the host at a time."""


class Sliceable(Protocol):
  """An array, or what reads one's blocks when they are asked for."""

  def __getitem__(self, index: Any, /) -> np.ndarray: ...


class Reader(Protocol):
  """Gives a declared weight layer by layer."""

  def layer(self, weight: Weight, index: int) -> Sliceable:
    """Of layer `index`, in the model's shape; a lone weight's index is 0."""
    ...


def load(
    model: config.Model,
    spec: ModelSpec,
    mesh: Mesh,
    kernels: ops.Kernels = ops.XLA,
) -> Transformer:
  """The model on the mesh, its weights as `model.weights` says.

  Raises:
    ConfigError: the transformer cannot run the model, the mesh does not fit
      it, or the weights are missing or of another model.
  """
  tp_error = spec.tp_error(mesh.size)
  errors = [spec.unrunnable, tp_error and f"cluster.tp: {tp_error}"]
  if any(errors):
    raise config.ConfigError([error for error in errors if error])
  return Transformer(spec, mesh, source(model, spec, mesh), kernels)


def source(model: config.Model, spec: ModelSpec, mesh: Mesh) -> Source:
  """What makes the weights that `model` names.

  Raises:
    ConfigError: they are missing or of another model.
  """
  path = checkpoint.path_of(model)
  reader: Reader = Drawn(model.seed)
  dtype = jnp.dtype(model.dtype)
  if path is not None:
    found = checkpoint.opened(path)
    found.check(spec)
    if isinstance(found, OrbaxFolder):
      from pdjax.models import orbax_store  # takes most of a second

      return lambda weight: orbax_store.restore(found, weight, dtype, mesh)
    reader = found
  return lambda weight: place(weight, reader, dtype, mesh)


def place(
    weight: Weight, reader: Reader, dtype: jnp.dtype, mesh: Mesh
) -> jax.Array:
  """A weight on the mesh, in its stored shape."""
  where = meshes.sharding(mesh, weight.axes)
  layers = weight.shape[0] if weight.layered else 1
  layer_bytes = math.prod(weight.shape) // layers * dtype.itemsize
  step = max(1, PIECE_BYTES // layer_bytes)
  if step >= layers:
    return _piece(weight, reader, range(layers), dtype, where)
  whole = jax.jit(
      functools.partial(jnp.zeros, weight.shape, dtype), out_shardings=where
  )()
  for start in range(0, layers, step):
    part = range(start, min(start + step, layers))
    piece = _piece(weight, reader, part, dtype, where)
    whole = _put(whole, piece, np.int32(start), where)
    whole.block_until_ready()  # else pieces queue up faster than they go
  return jax.device_put(whole, where)  # of the same layout, spelled as asked


def _piece(
    weight: Weight,
    reader: Reader,
    layers: range,
    dtype: jnp.dtype,
    where: NamedSharding,
) -> jax.Array:
  """Some layers of a weight, or a weight of no layer, on the mesh."""
  with concurrent.futures.ThreadPoolExecutor() as threads:
    values = list(threads.map(lambda i: reader.layer(weight, i), layers))
  shape = weight.shape
  if weight.layered:
    shape = (len(layers), *shape[1:])

  def block(index: tuple[slice, ...] | None) -> np.ndarray:
    assert index is not None
    chosen = values[index[0]] if weight.layered else values
    within = index[weight.layered :]
    parts = [np.asarray(_copied(v, weight, within), dtype) for v in chosen]
    return np.stack(parts) if weight.layered else parts[0]

  return jax.make_array_from_callback(shape, where, block)


def _copied(
    value: Sliceable, weight: Weight, index: tuple[slice, ...]
) -> np.ndarray:
  """A block of one layer; `index` counts kv heads with their copies."""
  if weight.copies == 1:
    return value[index]
  axis = weight.axes.index("kv_heads") - weight.layered
  heads = range(weight.shape[axis + weight.layered])[index[axis]]
  own = np.array(heads) // weight.copies
  within = list(index)
  within[axis] = slice(own[0], own[-1] + 1)
  return value[tuple(within)].take(own - own[0], axis)


@functools.partial(jax.jit, static_argnums=3, donate_argnums=0)
def _put(
    whole: jax.Array, piece: jax.Array, start: np.int32, where: NamedSharding
) -> jax.Array:
  """Layers of an array replaced, in place."""
  whole = jax.lax.dynamic_update_slice_in_dim(whole, piece, start, 0)
  return jax.lax.with_sharding_constraint(whole, where)
