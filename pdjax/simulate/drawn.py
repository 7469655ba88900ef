"""Scalars drawn within their uncertainty: does a verdict hold if they are off?

Each efficiency and each overhead is multiplied by a factor of its own, uniform
within the stated share. A draw has a number, and equal numbers draw the same
factors whatever is simulated, so rivals are compared draw by draw.
"""

import dataclasses

import numpy as np

from pdjax.simulate.scalars import Scalars

ASSUMED = 0.2
"""Half-width of what was assumed and not fitted."""


def drawn(scalars: Scalars, draw: int, half_width: float) -> Scalars:
  """The scalars of draw number `draw`; 0 leaves them as they are."""
  if not draw:
    return scalars
  names = [
      field.name
      for field in dataclasses.fields(scalars)
      if field.name.endswith(("_efficiency", "_s"))
  ]
  factors = np.random.default_rng(draw).uniform(
      1 - half_width, 1 + half_width, len(names)
  )
  return dataclasses.replace(
      scalars,
      **{
          name: _within(name, getattr(scalars, name) * float(factor))
          for name, factor in zip(names, factors, strict=True)
      },
  )


def _within(name: str, value: float) -> float:
  return min(value, 1.0) if name.endswith("_efficiency") else value
