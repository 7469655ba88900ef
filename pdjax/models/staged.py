"""A forward pass over a cache in stages: some layers at a time, one program.

For prompts whose pages leave while later layers are computed. All stages have
the same shapes, so one compiled program serves them; it is told which layer is
its first, and given the weights. The result is that of `Transformer.__call__`.

Dimension key: docs/notation.md.
"""

import dataclasses
from typing import Any

import jax
from flax import nnx

from pdjax import kv
from pdjax.models.transformer import Transformer


@dataclasses.dataclass(frozen=True)
class Staged:
  """Functions of a model's weights, for jit.

  Raises:
    ValueError: `layers` does not divide the model's.
  """

  model: Transformer
  """Its own weights are not looked at."""
  layers: int
  """Of one stage."""

  def __post_init__(self):
    if self.model.spec.num_layers % self.layers:
      raise ValueError(
          f"{self.layers=} does not divide {self.model.spec.num_layers=}"
      )

  @property
  def first_layers(self) -> range:
    """Of each stage."""
    return range(0, self.model.spec.num_layers, self.layers)

  def weights(self, params: Any) -> list[Any]:
    """Of each stage, as `stage` takes them."""
    return self._with(params).stack.groups(self.layers)

  def begin(self, params: Any, token_T: jax.Array) -> jax.Array:
    """What the first layer takes: x_TD."""
    return self._with(params).embedded(token_T)

  def stage(
      self,
      weights: Any,
      batch: kv.Batch,
      pool_LP2KCH: jax.Array,
      x_TD: jax.Array,
      first_layer: jax.Array,
  ) -> tuple[jax.Array, jax.Array]:
    """Layers from `first_layer` on: (x_TD, the pool); donate it."""

    def walk(layer, carry):
      return self.model.stack.through_group(
          layer, carry, weights, first_layer, self.layers
      )

    return self.model.through_cache(batch, pool_LP2KCH, x_TD, walk)

  def end(self, params: Any, x_SD: jax.Array) -> jax.Array:
    """Of rows whose logits are wanted: logits_SV in float32."""
    return self._with(params).logits(x_SD)

  def _with(self, params: Any) -> Transformer:
    return nnx.merge(nnx.split(self.model)[0], params)
