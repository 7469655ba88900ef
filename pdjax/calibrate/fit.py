"""Step costs fitted to measured steps: eight prices, alone and beside others.

None of the prices of `FittedCost` may be negative, nor lower beside others
(Lawson and Hanson, Solving Least Squares Problems, 1974), so extrapolation
never turns one negative.

Noise is taken to grow with the step: residuals are weighed by the inverse of
the price itself, found by iteration. Weighing by the inverse of the measured
time instead would favour lucky steps and fit prices that are too low.

Where workers share a host, a pass may have been beside others for a part of its
time. The longer it takes in such company, the less of its work was done in it;
how much is found in the same iteration. Then a step's time is a sum of prices
and rises, each times what was done of it where it holds. Few steps tell little
of a single rise: each is drawn towards what all prices rise by in the mean, as
if a few more steps had said so.

Units: `_ps` picoseconds.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pdjax.calibrate.observe import StepSeen, TransferSeen
from pdjax.calibrate.steptable import Equations, Table, table_of
from pdjax.simulate.fittedcost import PRICES, UNPADDED, FittedCost, Padding
from pdjax.simulate.links import Link
from pdjax.simulate.rates import PS_PER_S
from pdjax.simulate.sharing import Sharing

_ITERATIONS = 12
"""More change the prices by less than a thousandth."""
_TURNS = 40
"""Likewise where what was done beside others is to be found, too."""
_USUAL = 1.0
"""Errors beyond this share of the price count by their size, not its square: a
step in which the machine did something else must not bend the others' price.
(Huber, The Annals of Mathematical Statistics, 1964.)"""


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
  alone, prompts, decodes = fit(table_of(steps), shared).round().astype(int)
  return FittedCost(
      **dict(zip(PRICES, alone.tolist(), strict=True)),
      **fit_copies(transfers),
      kv_bytes_per_token=kv_bytes_per_token,
      padding=padding,
      sharing=Sharing(
          prompts=tuple(prompts.tolist()), decodes=tuple(decodes.tolist())
      ),
  )


def fit(
    steps: Table, shared: bool, start: np.ndarray | None = None
) -> np.ndarray:
  """Prices in the order of `PRICES`: alone, and both rises beside others.

  Without `shared` there are none of these, whoever was beside. A `start` near
  the result saves turns.
  """
  prices = np.zeros((3, len(PRICES)))
  if not shared:
    prices[0] = _weighted_nnls(lambda _: steps.rows, steps.elapsed_ps)
    return prices

  def columns(found: np.ndarray | None) -> np.ndarray:
    return steps.beside(steps.mix(first if found is None else found))

  first, turns = (prices, _TURNS) if start is None else (start, _ITERATIONS)
  found = _weighted_nnls(columns, steps.elapsed_ps, turns, steps.prior)
  return found.reshape(prices.shape)


def _weighted_nnls(
    columns_at: Callable[[np.ndarray | None], np.ndarray],
    target: np.ndarray,
    turns: int = _ITERATIONS,
    prior_at: Callable[[np.ndarray], Equations] | None = None,
) -> np.ndarray:
  """Non-negative coefficients; errors count relative to the fitted value.

  Args:
    columns_at: what they are of, given those of the turn before; None first.
    target: the sums that they are to make.
    turns: how often it is done again.
    prior_at: equations beside, given those of the turn before.
  """
  found, fitted = None, np.full(len(target), target.mean())
  trust = np.ones(len(target))
  for _ in range(turns):
    columns, weight = columns_at(found), np.sqrt(trust) / fitted
    rows, sums = columns * weight[:, None], target * weight
    if prior_at and found is not None:
      more, aims = prior_at(found)
      rows, sums = np.vstack([rows, more]), np.concatenate([sums, aims])
    found = _nnls(rows, sums)
    fitted = np.maximum(columns @ found, target.min())
    off = np.abs(target / fitted - 1)
    trust = np.minimum(1.0, _USUAL / np.maximum(off, _USUAL))
  assert found is not None
  return found


def _nnls(rows: np.ndarray, target: np.ndarray) -> np.ndarray:
  """Non-negative least squares; columns are brought to one scale first."""
  from scipy.optimize import nnls

  scale = rows.max(axis=0)
  scale[scale == 0] = 1.0
  both = np.column_stack([rows / scale, target])
  r = np.asarray(np.linalg.qr(both, mode="r"))
  found, _ = nnls(r[:, :-1], r[:, -1])
  return found / scale


def spread(
    cost: FittedCost, steps: Sequence[StepSeen], shared: bool, resamples: int
) -> np.ndarray:
  """Standard deviations of what `fit` finds, over bootstrap fits; `cost` is
  what it found of these steps."""
  table, draw = table_of(steps), np.random.default_rng(0)
  found, fits = _found_in(cost), []
  for _ in range(resamples):
    some = table.take(draw.integers(len(steps), size=len(steps)))
    fits.append(fit(some, shared, found))
  return np.std(fits, axis=0, ddof=1)


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
  columns = np.array(rows, float)
  found = _weighted_nnls(lambda _: columns, np.maximum(times_ps, 1.0))
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
  latency_ps, ps_per_byte = _weighted_nnls(lambda _: rows, link_ps)
  bandwidth = PS_PER_S / max(ps_per_byte, 1.0)
  return Link(max(1, round(bandwidth)), round(latency_ps))


def priced_ps(cost: FittedCost, steps: Sequence[StepSeen]) -> np.ndarray:
  """Of each step, padded as it was and beside whom it was."""
  return table_of(steps).priced_ps(_found_in(cost))


def _found_in(cost: FittedCost) -> np.ndarray:
  """As `fit` gave it: prices alone, and both rises."""
  none = (0,) * len(PRICES)
  rises = (cost.sharing.prompts or none, cost.sharing.decodes or none)
  return np.array([cost.prices(), *rises], float)


def step_errors(cost: FittedCost, steps: Sequence[StepSeen]) -> np.ndarray:
  """Signed relative error of each step's price."""
  elapsed_ps = np.array([seen.elapsed_ps for seen in steps], float)
  return priced_ps(cost, steps) / elapsed_ps - 1.0
