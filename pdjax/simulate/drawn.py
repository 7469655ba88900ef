"""Costs drawn within their uncertainty: does a verdict hold if they are off?

Each efficiency and overhead, or each price of a calibration and each of its
rises beside neighbours, is multiplied by a factor of its own, uniform within
the stated share. A draw has a number, and equal numbers draw the same factors
whatever is simulated, so rivals are compared draw by draw.
"""

import dataclasses

import numpy as np

from pdjax.simulate.fittedcost import COPIES, PRICES, FittedCost
from pdjax.simulate.scalars import Scalars
from pdjax.simulate.sharing import NEIGHBOURS, Sharing

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
  factors = _factors(draw, half_width, len(names))
  return dataclasses.replace(
      scalars,
      **{
          name: _within(name, getattr(scalars, name) * factor)
          for name, factor in zip(names, factors, strict=True)
      },
  )


def drawn_prices(
    cost: FittedCost, draw: int, half_width: float
) -> FittedCost:
  """The prices of draw number `draw`, whole picoseconds; 0 leaves them.

  A price of nothing stays nothing.
  """
  if not draw:
    return cost
  names = (*PRICES, *COPIES)
  count = len(names) + len(NEIGHBOURS) * len(PRICES)
  factors = iter(_factors(draw, half_width, count))
  prices = {name: getattr(cost, name) * next(factors) for name in names}
  rises = {
      kind: [next(factors) for _ in PRICES] for kind in NEIGHBOURS
  }
  return dataclasses.replace(
      cost,
      **{n: p if n == _PER_BYTE else round(p) for n, p in prices.items()},
      sharing=Sharing(**{
          kind: tuple([
              round(rise * factor)
              for rise, factor in zip(
                  getattr(cost.sharing, kind), each, strict=False
              )
          ])
          for kind, each in rises.items()
      }),
  )


_PER_BYTE = "copy_ps_per_byte"
"""The one price that is no whole number."""


def _factors(draw: int, half_width: float, count: int) -> list[float]:
  """None below 0: what is off by more than all of it may cost nothing."""
  found = np.random.default_rng(draw).uniform(
      max(1 - half_width, 0.0), 1 + half_width, count
  )
  return found.tolist()


def _within(name: str, value: float) -> float:
  return min(value, 1.0) if name.endswith("_efficiency") else value
