"""Step costs fitted to measured steps: six numbers, none negative.

None of the prices of `FittedCost` may be negative (Lawson and Hanson, Solving
Least Squares Problems, 1974), so extrapolation never turns one negative.

Noise is taken to grow with the step: residuals are weighed by the inverse of
the price itself, found by iteration. Weighing by the inverse of the measured
time instead would favour lucky steps and fit prices that are too low.

Units: `_ps` picoseconds.
"""

from collections.abc import Sequence

import numpy as np

from pdjax.calibrate.observe import StepSeen, TransferSeen
from pdjax.simulate.fittedcost import (
  PRICES,
  UNPADDED,
  FittedCost,
  Padding,
  features,
)
from pdjax.simulate.links import Link
from pdjax.simulate.rates import PS_PER_S


def fit_cost(
    steps: Sequence[StepSeen],
    transfers: Sequence[TransferSeen],
    kv_bytes_per_token: int,
    padding: Padding = UNPADDED,
) -> FittedCost:
  """The six prices that fit the steps best, and that of copying a byte.

  Raises:
    ValueError: no step was seen.
  """
  if not steps:
    raise ValueError("no step to fit")
  rows = np.array([features(seen.shape, padding) for seen in steps], float)
  elapsed_ps = np.array([seen.elapsed_ps for seen in steps], float)
  prices = _weighted_nnls(rows, elapsed_ps)
  return FittedCost(
      **dict(zip(PRICES, map(round, prices), strict=True)),
      copy_ps_per_byte=_copy_ps_per_byte(transfers),
      kv_bytes_per_token=kv_bytes_per_token,
      padding=padding,
  )


def _weighted_nnls(rows: np.ndarray, target: np.ndarray) -> np.ndarray:
  """Non-negative coefficients; errors count relative to the fitted value."""
  from scipy.optimize import nnls

  scale = rows.max(axis=0)
  scale[scale == 0] = 1.0
  rows = rows / scale
  found, fitted = np.zeros(rows.shape[1]), np.full(len(target), target.mean())
  trust = np.ones(len(target))
  for _ in range(_ITERATIONS):
    weight = np.sqrt(trust) / fitted
    found, _ = nnls(rows * weight[:, None], target * weight)
    fitted = np.maximum(rows @ found, target.min())
    off = np.abs(target / fitted - 1)
    trust = np.minimum(1.0, _USUAL / np.maximum(off, _USUAL))
  return found / scale


_ITERATIONS = 12
"""More change the prices by less than a thousandth."""
_USUAL = 1.0
"""Errors beyond this share of the price count by their size, not its square: a
step in which the machine did something else must not bend the others' price.
(Huber, The Annals of Mathematical Statistics, 1964.)"""

def _copy_ps_per_byte(transfers: Sequence[TransferSeen]) -> float:
  """Of the quickest tenth: those found the worker between two steps."""
  if not transfers:
    return 0.0
  per_byte = [
      min(seen.gather_ps, seen.scatter_ps) / seen.moved_bytes
      for seen in transfers
  ]
  return float(np.quantile(per_byte, 0.1))


def fit_link(transfers: Sequence[TransferSeen]) -> Link:
  """Latency and bandwidth of the middle stage; a fast link if none was seen."""
  if not transfers:
    return Link(PS_PER_S)
  moved = np.array([seen.moved_bytes for seen in transfers], float)
  link_ps = np.array([seen.link_ps for seen in transfers], float)
  rows = np.stack([np.ones_like(moved), moved], axis=1)
  latency_ps, ps_per_byte = _weighted_nnls(rows, link_ps)
  bandwidth = PS_PER_S / max(ps_per_byte, 1.0)
  return Link(max(1, round(bandwidth)), round(latency_ps))


def step_errors(cost: FittedCost, steps: Sequence[StepSeen]) -> np.ndarray:
  """Signed relative error of each step's price."""
  priced = [cost.step(seen.shape)[0].first_ps for seen in steps]
  return np.array(
      [
          price / seen.elapsed_ps - 1.0
          for price, seen in zip(priced, steps, strict=True)
      ]
  )
