"""Step costs fitted to measured steps: seven prices and two shares.

None of the prices of `FittedCost` may be negative (Lawson and Hanson, Solving
Least Squares Problems, 1974), so extrapolation never turns one negative.

Noise is taken to grow with the step: residuals are weighed by the inverse of
the price itself, found by iteration. Weighing by the inverse of the measured
time instead would favour lucky steps and fit prices that are too low.

Where workers share a host, measured times are first brought to what the steps
would have taken alone: a pass that was beside others for a part of its time did
less of its work in that part. How much less is what `Sharing` says, and it is
found in the same iteration: such that passes beside others cost what their
prices say, in the mean, each weighed by the time that it was.

Units: `_ps` picoseconds.
"""

from collections.abc import Sequence

import numpy as np

from pdjax.calibrate.observe import StepSeen, TransferSeen
from pdjax.calibrate.occupancy import share_matrix
from pdjax.simulate.fittedcost import (
  PRICES,
  UNPADDED,
  FittedCost,
  Padding,
  features,
)
from pdjax.simulate.links import Link
from pdjax.simulate.rates import PS_PER_S
from pdjax.simulate.sharing import ISOLATED, Sharing


def fit_cost(
    steps: Sequence[StepSeen],
    transfers: Sequence[TransferSeen],
    kv_bytes_per_token: int,
    padding: Padding = UNPADDED,
    *,
    shared: bool = False,
) -> FittedCost:
  """The prices that fit the steps best, and that of copying a byte.

  Args:
    steps: each with the sizes it was padded to.
    transfers: of the same engine; may be none.
    kv_bytes_per_token: of a hand-off.
    padding: that the prices are for.
    shared: the workers share a host: find out what that costs.

  Raises:
    ValueError: no step was seen.
  """
  if not steps:
    raise ValueError("no step to fit")
  rows = np.array([features(seen.shape, seen.padding) for seen in steps], float)
  elapsed_ps = np.array([seen.elapsed_ps for seen in steps], float)
  prices, sharing = _fit(rows, elapsed_ps, steps if shared else ())
  return FittedCost(
      **dict(zip(PRICES, map(round, prices), strict=True)),
      copy_ps_per_byte=_copy_ps_per_byte(transfers),
      kv_bytes_per_token=kv_bytes_per_token,
      padding=padding,
      sharing=sharing,
  )


def _fit(
    rows: np.ndarray, elapsed_ps: np.ndarray, steps: Sequence[StepSeen]
) -> tuple[np.ndarray, Sharing]:
  """Prices, and shares where there are `steps` to tell them by, in turns."""
  prices, sharing = _weighted_nnls(rows, elapsed_ps), ISOLATED
  for _ in range(_TURNS if steps else 0):
    sharing = _sharing(steps, elapsed_ps, rows @ prices)
    alone_ps = elapsed_ps * _pace(steps, sharing)
    prices = _weighted_nnls(rows, alone_ps)
  return prices, sharing


_TURNS = 8
"""More change the shares by less than a hundredth."""


def _pace(steps: Sequence[StepSeen], sharing: Sharing) -> np.ndarray:
  """Of each step: its mean speed, over that of the same step alone."""
  matrix = share_matrix([seen.shares for seen in steps])
  prompts = np.array([bool(seen.shape.prefill) for seen in steps])
  others = np.arange(matrix.shape[1])
  share = np.where(prompts, sharing.prompt, sharing.decode)
  return (matrix / (1 + share[:, None] * others)).sum(axis=1)


def _sharing(
    steps: Sequence[StepSeen], elapsed_ps: np.ndarray, price_ps: np.ndarray
) -> Sharing:
  """The shares with which the steps' prices are right beside others."""
  matrix = share_matrix([seen.shares for seen in steps])
  prompts = np.array([bool(seen.shape.prefill) for seen in steps])
  return Sharing(
      prompt=_share(matrix[prompts], elapsed_ps[prompts], price_ps[prompts]),
      decode=_share(matrix[~prompts], elapsed_ps[~prompts], price_ps[~prompts]),
  )


def _share(
    matrix: np.ndarray, elapsed_ps: np.ndarray, price_ps: np.ndarray
) -> float:
  """By bisection between isolation and taking turns."""
  others, ratio = np.arange(matrix.shape[1]), elapsed_ps / price_ps
  trust = np.minimum(1.0, _USUAL / np.maximum(np.abs(ratio - 1), _USUAL))
  weight = trust * (matrix * (others > 0)).sum(axis=1)
  low, high = 0.0, 1.0
  for _ in range(_HALVINGS):
    middle = (low + high) / 2
    pace = (matrix / (1 + middle * others)).sum(axis=1)
    if weight @ (ratio * pace - 1) > 0:
      low = middle
    else:
      high = middle
  return round((low + high) / 2, 4)


_HALVINGS = 20


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


def priced_ps(cost: FittedCost, steps: Sequence[StepSeen]) -> np.ndarray:
  """Of each step, padded as it was and beside whom it was."""
  alone_ps = [
      np.dot(
          cost.prices(bool(seen.shape.prefill)),
          features(seen.shape, seen.padding),
      )
      for seen in steps
  ]
  return np.maximum(alone_ps, 1) / _pace(steps, cost.sharing)


def step_errors(cost: FittedCost, steps: Sequence[StepSeen]) -> np.ndarray:
  """Signed relative error of each step's price."""
  elapsed_ps = np.array([seen.elapsed_ps for seen in steps], float)
  return priced_ps(cost, steps) / elapsed_ps - 1.0
