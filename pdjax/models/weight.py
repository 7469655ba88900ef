"""One weight of a model as it is declared: name, shape, axes, first value.

A source turns declarations into arrays: random numbers, a file, or only
shapes. The declarations of a whole model are in `pdjax.models.declared`.
"""

import dataclasses
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Weight:
  """What a source has to deliver."""

  name: str
  shape: tuple[int, ...]
  """As stored on the mesh, copies of kv heads included."""
  axes: tuple[str, ...]
  """Logical names of the shape's axes, see `pdjax.mesh`."""
  fan_in: int | None
  """Random weights have variance 1 / fan_in; None is a scale, all ones."""
  copies: int = 1
  """Physical heads per head of the model along the axis "kv_heads"."""

  def stacked(self, num_layers: int) -> "Weight":
    """The same weight of all layers, as one array."""
    return dataclasses.replace(
        self,
        shape=(num_layers, *self.shape),
        axes=("layers", *self.axes),
    )

  @property
  def layered(self) -> bool:
    """Whether its first axis counts layers."""
    return self.axes[0] == "layers"

  @property
  def model_shape(self) -> tuple[int, ...]:
    """The shape without copies of heads."""
    return tuple(
        size // self.copies if axis == "kv_heads" else size
        for size, axis in zip(self.shape, self.axes, strict=True)
    )


Source = Callable[[Weight], Any]
"""Makes the `jax.Array` of a declared weight."""
