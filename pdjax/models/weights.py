"""Where a model's weights come from: seeded random numbers or a GGUF file.

A source makes one declared weight at a time, straight onto the mesh. Random
weights depend on the seed and the weight's name only, never on the mesh.
"""

import concurrent.futures
import functools
import pathlib
import zlib

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from pdjax import config, inputfile
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
  path = weights_path(model)
  if path is None:
    read = functools.partial(random_weight, seed=model.seed)
  else:
    file = gguf_file.opened(path)
    file.check(spec)
    read = file.weight
  dtype = jnp.dtype(model.dtype)
  return lambda weight: place(read(weight), weight, dtype, mesh)


def weights_path(model: config.Model) -> pathlib.Path | None:
  """The GGUF file of a model; None if its weights are random.

  Raises:
    ConfigError: there is no such file.
  """
  if model.weights == "random":
    return None
  if model.weights == "fetched":
    return fetch.fetched_path(model.preset)
  if reason := inputfile.refusal(model.weights):
    raise config.ConfigError([
        f"model.weights: {model.weights!r} {reason}; allowed are 'random',"
        " 'fetched' or the path of a GGUF file"
    ])
  return inputfile.path_of(model.weights)


def random_weight(weight: Weight, *, seed: int) -> np.ndarray:
  """Normal numbers of variance 1 / fan_in, or ones: float32, no copies.

  Drawn on the host, where it costs no compilation; each layer has a stream of
  its own, so that large models are drawn by all cores.
  """
  value = np.ones(weight.model_shape, np.float32)
  if weight.fan_in is None:
    return value
  name = zlib.crc32(weight.name.encode())
  layers = value if weight.layered else value[None]

  def draw(layer: int) -> None:
    numbers = np.random.default_rng([seed, name, layer])
    numbers.standard_normal(dtype=np.float32, out=layers[layer])

  with concurrent.futures.ThreadPoolExecutor() as threads:
    list(threads.map(draw, range(len(layers))))
  value *= np.float32(weight.fan_in**-0.5)
  return value


def place(
    value: np.ndarray, weight: Weight, dtype: jnp.dtype, mesh: Mesh
) -> jax.Array:
  """A host array in the model's shape, on the mesh in the stored shape."""
  if value.shape != weight.model_shape:
    raise ValueError(f"{weight.name}: {value.shape=}, {weight.model_shape=}")
  if weight.copies > 1:
    value = value.repeat(weight.copies, axis=weight.axes.index("kv_heads"))
  stored = np.asarray(value, dtype)
  return jax.device_put(stored, meshes.sharding(mesh, weight.axes))
