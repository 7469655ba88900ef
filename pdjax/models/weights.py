"""Where a model's weights come from: seeded random numbers or a GGUF file.

A source makes one declared weight at a time, straight onto the mesh. Random
weights depend on the seed and the weight's name only, never on the mesh.
"""

import functools
import pathlib
import zlib

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from pdjax import config
from pdjax import mesh as meshes
from pdjax.models import fetch, gguf_file
from pdjax.models.spec import ModelSpec
from pdjax.models.transformer import Transformer
from pdjax.models.weight import Source, Weight


def load(model: config.Model, spec: ModelSpec, mesh: Mesh) -> Transformer:
  """The model on the mesh, its weights as `model.weights` says.

  Raises:
    ConfigError: the transformer cannot run the model, the mesh does not fit
      it, or the weights are missing or of another model.
  """
  tp_error = spec.tp_error(mesh.size)
  errors = [spec.unrunnable, tp_error and f"cluster.tp: {tp_error}"]
  if any(errors):
    raise config.ConfigError([error for error in errors if error])
  return Transformer(spec, mesh, source(model, spec, mesh))


def source(model: config.Model, spec: ModelSpec, mesh: Mesh) -> Source:
  """What makes the weights that `model` names."""
  dtype = jnp.dtype(model.dtype)
  if model.weights == "random":
    return functools.partial(
        random_weight, seed=model.seed, dtype=dtype, mesh=mesh
    )
  path = weights_path(model)
  assert path is not None
  file = gguf_file.GGUFFile(path)
  file.check(spec)
  return lambda weight: place(file.weight(weight), weight, dtype, mesh)


def weights_path(model: config.Model) -> pathlib.Path | None:
  """The GGUF file of a model; None if its weights are random.

  Raises:
    ConfigError: there is no such file.
  """
  if model.weights == "random":
    return None
  if model.weights == "fetched":
    return fetch.fetched_path(model.preset)
  path = pathlib.Path(model.weights)
  if not path.is_file():
    raise config.ConfigError([
        f"model.weights: no file {model.weights!r}; allowed are 'random',"
        " 'fetched' or the path of a GGUF file"
    ])
  return path


def random_weight(
    weight: Weight, *, seed: int, dtype: jnp.dtype, mesh: Mesh
) -> jax.Array:
  """Normal numbers of variance 1 / fan_in, or ones."""
  key = jax.random.fold_in(
      jax.random.key(seed), zlib.crc32(weight.name.encode())
  )
  return _draw(weight, dtype, meshes.sharding(mesh, weight.axes))(key)


@functools.cache
def _draw(weight: Weight, dtype: jnp.dtype, where):
  def draw(key):
    if weight.fan_in is None:
      return jnp.ones(weight.shape, dtype)
    value = jax.random.normal(key, weight.model_shape, jnp.float32)
    return _repeated(value * weight.fan_in**-0.5, weight).astype(dtype)

  return jax.jit(draw, out_shardings=where)


def place(
    value: np.ndarray, weight: Weight, dtype: jnp.dtype, mesh: Mesh
) -> jax.Array:
  """A host array in the model's shape, on the mesh in the stored shape."""
  if value.shape != weight.model_shape:
    raise ValueError(f"{weight.name}: {value.shape=}, {weight.model_shape=}")
  stored = np.asarray(_repeated(value, weight), dtype)
  return jax.device_put(stored, meshes.sharding(mesh, weight.axes))


def _repeated(value, weight: Weight):
  """Each kv head `copies` times."""
  if weight.copies == 1:
    return value
  return value.repeat(weight.copies, axis=weight.axes.index("kv_heads"))
