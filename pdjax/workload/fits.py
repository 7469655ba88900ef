"""Laws fitted to lengths, and how far off each is in the tail.

Both fits are by maximum likelihood; the gamma's shape by Minka's closed form
("Estimating a gamma distribution", 2002), which is within 1.5 % of it.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from scipy.special import gammaincinv, ndtri

TAIL = 0.99
LEAST_CV = 1e-6
"""Lengths that vary less are the same: rounding would decide the fit."""
TAIL_SHARE = 0.2
"""A fit misses the tail when its p99 is off by more than this share."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fit:
  """One law with its parameters; lengths in tokens."""

  name: str
  parameters: dict[str, float]
  quantile: Callable[[np.ndarray], np.ndarray]

  def off(self, tokens: np.ndarray, share: float = TAIL) -> float:
    """The law's quantile divided by the sample's, less 1."""
    law = float(self.quantile(np.array(share)))
    return law / float(np.quantile(tokens, share)) - 1

  def misses_tail(self, tokens: np.ndarray) -> bool:
    return abs(self.off(tokens)) > TAIL_SHARE


def fits_of(tokens: np.ndarray) -> list[Fit]:
  """Fits of lengths that are not all (nearly) the same; else none."""
  if tokens.std() <= LEAST_CV * tokens.mean():
    return []
  return [_lognormal(tokens), _gamma(tokens)]


def _lognormal(tokens: np.ndarray) -> Fit:
  logs = np.log(tokens)
  mu, sigma = float(logs.mean()), float(logs.std())
  return Fit(
      name="lognormal",
      parameters={
          "mean": math.exp(mu + sigma**2 / 2),
          "cv": math.sqrt(math.expm1(sigma**2)),
      },
      quantile=lambda share: np.exp(mu + sigma * ndtri(share)),
  )


def _gamma(tokens: np.ndarray) -> Fit:
  mean = float(tokens.mean())
  apart = math.log(mean) - float(np.log(tokens).mean())
  shape = (3 - apart + math.sqrt((apart - 3) ** 2 + 24 * apart)) / (12 * apart)
  return Fit(
      name="gamma",
      parameters={"mean": mean, "cv": shape**-0.5},
      quantile=lambda share: gammaincinv(shape, share) * mean / shape,
  )
