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
from typing import Any

import numpy as np

from pdjax.calibrate.observe import StepSeen, TransferSeen
from pdjax.calibrate.steptable import Table, table_of
from pdjax.simulate.fittedcost import PRICES, UNPADDED, FittedCost, Padding
from pdjax.simulate.links import Link
from pdjax.simulate.rates import PS_PER_S
from pdjax.simulate.sharing import ISOLATED, SHARED, Sharing

Fitted = tuple[np.ndarray, Sharing]
"""Prices in the order of `PRICES`, and what workers lose to each other."""


def fit_cost(
    steps: Sequence[StepSeen],
    transfers: Sequence[TransferSeen],
    kv_bytes_per_token: int,
    padding: Padding = UNPADDED,
    *,
    shared: bool = False,
) -> FittedCost:
  """The prices that fit the steps best, and those of copies.

  Args:
    steps: each with the sizes it was padded to.
    transfers: of the same engine; may be none.
    kv_bytes_per_token: of a hand-off.
    padding: that the prices are for.
    shared: the workers share a host: find out what that costs.

  Raises:
    ValueError: no step was seen.
  """
  prices, sharing = fit(table_of(steps), shared)
  return FittedCost(
      **dict(zip(PRICES, map(round, prices), strict=True)),
      **fit_copies(transfers),
      kv_bytes_per_token=kv_bytes_per_token,
      padding=padding,
      sharing=sharing,
  )


def fit(steps: Table, shared: bool, start: Sharing = ISOLATED) -> Fitted:
  """Prices, and then shares and prices in turns until the shares stay."""
  elapsed_ps, sharing = steps.elapsed_ps, start
  prices = _weighted_nnls(steps.rows, elapsed_ps * steps.pace(sharing))
  for _ in range(_TURNS if shared else 0):
    before, sharing = sharing, _sharing(steps, steps.rows @ prices)
    prices = _weighted_nnls(steps.rows, elapsed_ps * steps.pace(sharing))
    if _change(before, sharing) < _STILL:
      break
  return prices, sharing


_TURNS = 80
_STILL = 3e-4
"""Where few steps were alone each turn changes little: they go on longer."""


def _change(one: Sharing, other: Sharing) -> float:
  return max(abs(getattr(one, kind) - getattr(other, kind)) for kind in SHARED)


def spread(
    cost: FittedCost, steps: Sequence[StepSeen], shared: bool, resamples: int
) -> list[float]:
  """Standard deviations of prices and of both shares over bootstrap fits."""
  table, draw = table_of(steps), np.random.default_rng(0)
  fits = []
  for _ in range(resamples):
    chosen = draw.integers(len(steps), size=len(steps))
    prices, sharing = fit(table.take(chosen), shared, cost.sharing)
    fits.append([*prices, sharing.prompt, sharing.decode])
  return np.std(fits, axis=0, ddof=1).tolist()


def _sharing(steps: Table, price_ps: np.ndarray) -> Sharing:
  """The shares with which the steps' prices are right beside others."""
  ratio, prompts = steps.elapsed_ps / price_ps, steps.prompts
  return Sharing(
      prompt=_share(steps.shares[prompts], ratio[prompts]),
      decode=_share(steps.shares[~prompts], ratio[~prompts]),
  )


def _share(shares: np.ndarray, ratio: np.ndarray) -> float:
  """By bisection between isolation and taking turns; `ratio` is time over
  price alone."""
  others = np.arange(shares.shape[1])
  trust = np.minimum(1.0, _USUAL / np.maximum(np.abs(ratio - 1), _USUAL))
  weight = trust * shares[:, 1:].sum(axis=1)
  low, high = 0.0, 1.0
  for _ in range(_HALVINGS):
    middle = (low + high) / 2
    pace = (shares / (1 + middle * others)).sum(axis=1)
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


def fit_copies(transfers: Sequence[TransferSeen]) -> dict[str, Any]:
  """What `FittedCost` says of copies: of those that waited for no step.

  Of each size the quicker quarter stands for them.
  """
  rows, times_ps = [], []
  sizes: dict[int, list[TransferSeen]] = {}
  for seen in transfers:
    sizes.setdefault(seen.moved_bytes, []).append(seen)
  for size, alike in sizes.items():
    for name, ends in (("gather_ps", (1, 0)), ("scatter_ps", (0, 1))):
      rows.append((*ends, size))
      times_ps.append(np.quantile([getattr(s, name) for s in alike], 0.25))
  if not rows:
    return {"copy_ps_per_byte": 0.0}
  found = _weighted_nnls(np.array(rows, float), np.maximum(times_ps, 1.0))
  return {
      "gather_fixed_ps": round(found[0]),
      "scatter_fixed_ps": round(found[1]),
      "copy_ps_per_byte": float(found[2]),
  }


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
  table = table_of(steps)
  alone_ps = table.rows @ np.array(cost.prices(False), float)
  return np.maximum(alone_ps, 1) / table.pace(cost.sharing)


def step_errors(cost: FittedCost, steps: Sequence[StepSeen]) -> np.ndarray:
  """Signed relative error of each step's price."""
  elapsed_ps = np.array([seen.elapsed_ps for seen in steps], float)
  return priced_ps(cost, steps) / elapsed_ps - 1.0
