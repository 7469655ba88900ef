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
from typing import Any, TypeVar

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
    self.apart = lie_apart(mesh)
    """Whether each layer's weights are arrays of their own."""

    def stacked(weight):
      return source(weight.stacked(spec.num_layers))

    if not self.apart:
      self.stacked = Block(spec, mesh, stacked)
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
    graph, weights = nnx.split(self.blocks[0] if self.apart else self.stacked)

    def one(carry, xs):
      weights, number = xs
      return layer(nnx.merge(graph, weights), number, carry), None

    if not self.apart:
      numbers = jnp.arange(self.num_layers, dtype=jnp.int32)
      return jax.lax.scan(one, carry, (weights, numbers))[0]
    once = jax.jit(one)  # traced for the first layer alone
    for number, block in enumerate(self.blocks):
      carry, _ = once(carry, (nnx.split(block)[1], jnp.int32(number)))
    return carry

  def groups(self, layers: int) -> list[Any]:
    """Weights of so many layers at a time, as `through_group` takes them."""
    numbers = range(0, self.num_layers, layers)
    if not self.apart:
      return [nnx.split(self.stacked)[1]] * len(numbers)
    states = [nnx.split(block)[1] for block in self.blocks]
    return [states[first : first + layers] for first in numbers]

  def through_group(
      self,
      layer: Layer[Carry],
      carry: Carry,
      weights: Any,
      first_layer: jax.Array,
      layers: int,
  ) -> Carry:
    """As `through`, for the layers from `first_layer` on; reads no weights of
    its own."""
    graph, _ = nnx.split(self.blocks[0] if self.apart else self.stacked)

    def one(carry, own, number):
      return layer(nnx.merge(graph, own), number, carry)

    def numbered(carry, number):
      own = jax.tree.map(
          lambda weight: jax.lax.dynamic_index_in_dim(
              weight, number, keepdims=False
          ),
          weights,
      )
      return one(carry, own, number), None

    if not self.apart:
      numbers = first_layer + jnp.arange(layers, dtype=jnp.int32)
      return jax.lax.scan(numbered, carry, numbers)[0]
    once = jax.jit(one)
    for place, own in enumerate(weights):
      carry = once(carry, own, first_layer + jnp.int32(place))
    return carry


def lie_apart(mesh: Mesh) -> bool:
  """Whether layers on that mesh have arrays of their own."""
  return mesh.devices.flat[0].platform == "cpu"


def _parts(stacked) -> list:
  """A stacked weight's layers, or their shapes where it is only a shape."""
  where = stacked.sharding
  if where is not None:  # layers are never split over devices
    where = NamedSharding(where.mesh, PartitionSpec(*where.spec[1:]))
  if isinstance(stacked, jax.ShapeDtypeStruct):
    one = jax.ShapeDtypeStruct(stacked.shape[1:], stacked.dtype, sharding=where)
    return [one] * stacked.shape[0]
  return [_part(stacked, i, where) for i in range(stacked.shape[0])]


@functools.partial(jax.jit, static_argnums=2)
def _part(stacked: jax.Array, index: int, where: NamedSharding) -> jax.Array:
  one = jax.lax.dynamic_index_in_dim(stacked, index, keepdims=False)
  return jax.lax.with_sharding_constraint(one, where)
