"""Scalars fitted to readings: the simplex method on logarithms of errors.

Each source counts the same, whatever its number of readings, and an error
beyond a half no more than a half: what the model cannot explain at all must
not bend what it can. (Nelder and Mead, The Computer Journal, 1965.)
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from pdjax.calibrate.published.readings import Reading, ScalarSet

Assumed = Mapping[str, Mapping[str, float]]
"""What is known of engines beforehand, by engine."""

_STARTS = 3
"""A simplex that has shrunk onto a ridge is made anew, where it lies."""
_WORST = 0.5
_MOST_OF_A_SOURCE = 150
_TOP_SHARE = 0.98
"""No efficiency is fitted above."""


def fit_scalars(
    readings: Sequence[Reading],
    start: Mapping[str, float],
    assumed: Assumed,
    *,
    evaluations: int = 400,
) -> ScalarSet:
  """The scalars under which the fitted readings are priced best.

  Args:
    readings: those with `fitted`; the others are left alone.
    start: first guesses; `name@engine` is for one engine only, and
      `name@one|other` for two.
    assumed: by engine, what is not fitted.
    evaluations: how often the readings may be priced.
  """
  from scipy.optimize import minimize

  names = list(start)
  first = np.array([start[name] for name in names])
  chosen = _thinned([reading for reading in readings if reading.fitted])

  def loss(factors: np.ndarray) -> float:
    return _loss(chosen, _set_of(names, first * factors), assumed)

  factors = np.ones(len(names))
  for _ in range(_STARTS):
    factors = minimize(
        loss, factors, method="Nelder-Mead",
        options={
            "maxfev": evaluations // _STARTS, "adaptive": True, "fatol": 1e-4
        },
    ).x
  return _set_of(names, first * factors)


def _thinned(readings: Sequence[Reading]) -> list[Reading]:
  """At most so many of each source, spread evenly."""
  by_source: dict[str, list[Reading]] = {}
  for reading in readings:
    by_source.setdefault(reading.source, []).append(reading)
  return [
      reading
      for of_one in by_source.values()
      for reading in of_one[:: -(-len(of_one) // _MOST_OF_A_SOURCE)]
  ]


def _set_of(names: Sequence[str], values: np.ndarray) -> ScalarSet:
  hardware: dict[str, float] = {}
  engines: dict[str, dict[str, float]] = {}
  for name, value in zip(names, values, strict=True):
    scalar, _, owners = name.partition("@")
    value = abs(float(value))
    if scalar.endswith("_efficiency"):
      value = min(value, _TOP_SHARE)
    for owner in owners.split("|"):
      where = engines.setdefault(owner, {}) if owner else hardware
      where[scalar] = float(f"{value:.3g}")
  return ScalarSet(hardware, engines, len(names))


def _loss(
    readings: Sequence[Reading], scalars: ScalarSet, assumed: Assumed
) -> float:
  by_source: dict[str, list[float]] = {}
  for reading in readings:
    known = assumed.get(reading.engine, {})
    price_ms = reading.price_ms(scalars.of(reading.engine, known))
    off = abs(math.log(price_ms / reading.measured_ms))
    by_source.setdefault(reading.source, []).append(min(off, _WORST))
  return sum(sum(errors) / len(errors) for errors in by_source.values())


