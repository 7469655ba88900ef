"""Step costs fitted to measured steps: six numbers, none negative.

A step costs a fixed time, a time per prompt chunk (a program call), per prompt
token, per pair of prompt token and attended token, per decoding sequence and
per token it attends to. None may be negative (Lawson and Hanson, Solving
Least Squares Problems, 1974), so extrapolation never turns a price negative.

Noise is taken to grow with the step: residuals are weighed by the inverse of
the price itself, found by iteration. Weighing by the inverse of the measured
time instead would favour lucky steps and fit prices that are too low.

Units: `_ps` picoseconds.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from pdjax.calibrate.observe import StepSeen, TransferSeen
from pdjax.schedule.cost import StepShape
from pdjax.segments import Segment
from pdjax.simulate.links import Link
from pdjax.simulate.rates import PS_PER_S


@dataclasses.dataclass(frozen=True, kw_only=True)
class FittedCost:
  """Prices steps by a linear fit; the simulator's `WorkerCost`."""

  fixed_ps: int
  chunk_ps: int
  prompt_token_ps: int
  prompt_pair_ps: int
  decode_ps: int
  context_token_ps: int
  copy_ps_per_byte: float
  """Of gathering, and of scattering, a hand-off's pages."""
  kv_bytes_per_token: int

  def step(self, shape: StepShape) -> tuple[Segment, ...]:
    """See `StepCost.step`; a decode run is one straight line."""
    prices = dataclasses.astuple(self)[: len(features(shape))]
    first_ps = sum(
        price * count
        for price, count in zip(prices, features(shape), strict=True)
    )
    slope_ps = shape.decode_seqs * self.context_token_ps
    return (Segment(shape.repeats, max(1, first_ps), slope_ps),)

  def transfer_bytes(self, tokens: int) -> int:
    return tokens * self.kv_bytes_per_token

  def gather_ps(self, size_bytes: int) -> int:
    return round(size_bytes * self.copy_ps_per_byte)

  def scatter_ps(self, size_bytes: int) -> int:
    return round(size_bytes * self.copy_ps_per_byte)


def features(shape: StepShape) -> tuple[int, ...]:
  """What a step is charged for, in the order of `FittedCost`.

  >>> features(StepShape(((4, 10),), 2, 50))
  (1, 1, 4, 50, 2, 50)
  """
  return (
      1,
      len(shape.prefill),
      sum(tokens for tokens, _ in shape.prefill),
      sum(_pairs(tokens, cached) for tokens, cached in shape.prefill),
      shape.decode_seqs,
      shape.decode_context_tokens,
  )


def _pairs(tokens: int, cached: int) -> int:
  """Pairs of a chunk's token and one it attends to, causal."""
  return tokens * cached + tokens * (tokens + 1) // 2


def fit_cost(
    steps: Sequence[StepSeen],
    transfers: Sequence[TransferSeen],
    kv_bytes_per_token: int,
) -> FittedCost:
  """The six prices that fit the steps best, and that of copying a byte.

  Raises:
    ValueError: no step was seen.
  """
  if not steps:
    raise ValueError("no step to fit")
  rows = np.array([features(seen.shape) for seen in steps], float)
  elapsed_ps = np.array([seen.elapsed_ps for seen in steps], float)
  prices = _weighted_nnls(rows, elapsed_ps)
  return FittedCost(
      **dict(zip(_PRICES, map(round, prices), strict=True)),
      copy_ps_per_byte=_copy_ps_per_byte(transfers),
      kv_bytes_per_token=kv_bytes_per_token,
  )


def _weighted_nnls(rows: np.ndarray, target: np.ndarray) -> np.ndarray:
  """Non-negative coefficients; errors count relative to the fitted value."""
  from scipy.optimize import nnls

  scale = rows.max(axis=0)
  scale[scale == 0] = 1.0
  rows = rows / scale
  found, fitted = np.zeros(rows.shape[1]), np.full(len(target), target.mean())
  for _ in range(_ITERATIONS):
    found, _ = nnls(rows / fitted[:, None], target / fitted)
    fitted = np.maximum(rows @ found, target.min())
  return found / scale


_ITERATIONS = 8
"""More change the prices by less than a thousandth."""

_PRICES = tuple(
    field.name for field in dataclasses.fields(FittedCost)
)[: len(features(StepShape()))]


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
