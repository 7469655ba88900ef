"""A forward pass over a cache in stages: some layers at a time, one program.

For prompts whose pages leave while later layers are computed. All stages have
the same shapes, so one compiled program serves them; it is told which layer is
its first. The result is that of `Transformer.__call__`.

Dimension key: docs/notation.md.
"""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from pdjax import kv
from pdjax.models.layers import rope_tables
from pdjax.models.transformer import Transformer


@dataclasses.dataclass(frozen=True)
class Staged:
  """Functions of a model's weights, for jit.

  Raises:
    ValueError: `layers` does not divide the model's.
  """

  graph: Any
  layers: int
  """Of one stage."""
  num_layers: int

  @classmethod
  def of(cls, model: Transformer, layers: int) -> "Staged":
    num_layers = model.spec.num_layers
    if num_layers % layers:
      raise ValueError(f"{layers=} does not divide {num_layers=}")
    return cls(nnx.split(model)[0], layers, num_layers)

  @property
  def first_layers(self) -> range:
    """Of each stage."""
    return range(0, self.num_layers, self.layers)

  def begin(self, params: Any, token_T: jax.Array) -> jax.Array:
    """What the first layer takes: x_TD."""
    return nnx.merge(self.graph, params)._embed(token_T)

  def stage(
      self,
      params: Any,
      batch: kv.Batch,
      pool_LP2KCH: jax.Array,
      x_TD: jax.Array,
      first_layer: jax.Array,
  ) -> tuple[jax.Array, jax.Array]:
    """Layers from `first_layer` on: (x_TD, the pool); donate it."""
    model = nnx.merge(self.graph, params)
    L, P = pool_LP2KCH.shape[:2]
    rope = rope_tables(batch.position_T, model.spec)
    kv_P2KCH = model._pinned(
        pool_LP2KCH.reshape(L * P, *pool_LP2KCH.shape[2:])
    )
    graph, stacked = nnx.split(model.blocks)

    def layer(carry, number):
      x_TD, kv_P2KCH = carry
      weights = jax.tree.map(
          lambda weight: jax.lax.dynamic_index_in_dim(
              weight, number, keepdims=False
          ),
          stacked,
      )
      attend = functools.partial(
          model._attention, batch, P * number, kv_P2KCH
      )
      x_TD, kv_P2KCH = nnx.merge(graph, weights)(x_TD, rope, attend)
      return (x_TD, model._pinned(kv_P2KCH)), None

    numbers = first_layer + jnp.arange(self.layers, dtype=jnp.int32)
    (x_TD, kv_P2KCH), _ = jax.lax.scan(layer, (x_TD, kv_P2KCH), numbers)
    pool = kv_P2KCH.reshape(pool_LP2KCH.shape)
    return x_TD, jax.lax.with_sharding_constraint(
        pool, kv.pool_sharding(model.mesh)
    )

  def end(self, params: Any, x_SD: jax.Array) -> jax.Array:
    """Of rows whose logits are wanted: logits_SV in float32."""
    return nnx.merge(self.graph, params)._logits(x_SD)
