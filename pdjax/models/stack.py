"""A model's layers, one behind the other: scanned, or written out.

Stacked weights and a scan make a program of one layer's size, whatever their
number. XLA's CPU products, though, read an operand from its beginning: a layer
of a stacked weight is copied out first, every weight in every pass. So on a
CPU each layer has arrays of its own, and the program holds them all.

Dimension key: docs/notation.md.
"""

import functools
import math
from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from pdjax.models import declared
from pdjax.models.layers import Block
from pdjax.models.spec import ModelSpec
from pdjax.models.weight import Source

Carry = TypeVar("Carry")

Layer = Callable[[Block, jax.Array, Carry], Carry]
"""(the layer, its number as i32, what the one before it left)."""


class Stack(nnx.Module):
  """All layers of a model."""

  def __init__(self, spec: ModelSpec, mesh: Mesh, source: Source):
    self.num_layers = spec.num_layers
    self.apart = mesh.devices.flat[0].platform == "cpu"
    """Whether each layer's weights are arrays of their own."""

    def stacked(weight):
      return source(weight.stacked(spec.num_layers))

    if not self.apart:
      self.blocks = Block(spec, mesh, stacked)
      return
    # The largest first: while one is taken apart, it is there twice.
    weights = declared.layer(spec, mesh.size)
    largest = sorted(weights.values(), key=lambda w: -math.prod(w.shape))
    parts = {weight.name: _parts(stacked(weight)) for weight in largest}
    self.blocks = nnx.List([
        Block(spec, mesh, lambda weight, i=i: parts[weight.name][i])
        for i in range(spec.num_layers)
    ])

  def through(self, layer: Layer[Carry], carry: Carry) -> Carry:
    """What the last layer leaves, each being given what the one before left."""
    if self.apart:
      for number, block in enumerate(self.blocks):
        carry = layer(block, jnp.int32(number), carry)
      return carry
    graph, weights = nnx.split(self.blocks)

    def scanned(carry, xs):
      weights, number = xs
      return layer(nnx.merge(graph, weights), number, carry), None

    numbers = jnp.arange(self.num_layers, dtype=jnp.int32)
    return jax.lax.scan(scanned, carry, (weights, numbers))[0]


def _parts(stacked) -> list:
  """A stacked weight's layers, or their shapes where it is only a shape."""
  where = _of_one(stacked.sharding)
  if isinstance(stacked, jax.ShapeDtypeStruct):
    one = jax.ShapeDtypeStruct(stacked.shape[1:], stacked.dtype, sharding=where)
    return [one] * stacked.shape[0]
  return [_part(stacked, i, where) for i in range(stacked.shape[0])]


def _of_one(sharding: NamedSharding) -> NamedSharding:
  """How one layer lies; layers are never split over devices."""
  return NamedSharding(sharding.mesh, PartitionSpec(*sharding.spec[1:]))


@functools.partial(jax.jit, static_argnums=2)
def _part(stacked: jax.Array, index: int, where: NamedSharding) -> jax.Array:
  one = jax.lax.dynamic_index_in_dim(stacked, index, keepdims=False)
  return jax.lax.with_sharding_constraint(one, where)
