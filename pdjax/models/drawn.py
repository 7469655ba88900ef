"""Random weights: normal numbers that depend on seed, name and layer only.

So a model's weights are the same on every mesh. They are drawn on the host,
where that costs no compilation.
"""

import dataclasses
import zlib

import numpy as np

from pdjax.models.weight import Weight


@dataclasses.dataclass(frozen=True, slots=True)
class Drawn:
  """Weights that are nowhere stored."""

  seed: int

  def layer(self, weight: Weight, index: int) -> np.ndarray:
    """Of one layer: variance 1 / fan_in, or ones; float32, no copies."""
    shape = weight.model_shape[weight.layered :]
    if weight.fan_in is None:
      return np.ones(shape, np.float32)
    name = zlib.crc32(weight.name.encode())
    numbers = np.random.default_rng([self.seed, name, index])
    value = numbers.standard_normal(shape, np.float32)
    value *= np.float32(weight.fan_in**-0.5)
    return value
