"""Distributions of prompt and answer lengths, in tokens."""

import dataclasses
import math
from typing import assert_never

import numpy as np

from pdjax import config

MAX_TOKENS = 10**9
"""Of one prompt or answer: far beyond any model, far within an int64."""


@dataclasses.dataclass(frozen=True)
class Draw:
  """Lengths, and how many of them the bounds changed."""

  tokens: np.ndarray  # int64, at least 1
  raised_to_low: int = 0
  cut_to_high: int = 0


def draw(
    lengths: config.Lengths, count: int, rng: np.random.Generator
) -> Draw:
  """`count` lengths; a longer draw begins with the shorter one."""
  match lengths.kind:
    case "fixed":
      return Draw(np.full(count, int(lengths.mean), dtype=np.int64))
    case "lognormal":
      return _lognormal(lengths, count, rng)
    case "empirical":
      values = np.array(lengths.values, dtype=np.int64)
      return Draw(values[rng.integers(values.size, size=count)])
    case _:
      assert_never(lengths.kind)


def _lognormal(
    lengths: config.Lengths, count: int, rng: np.random.Generator
) -> Draw:
  """The logarithm is normal: sigma^2 = ln(1 + cv^2), mu = ln mean - sigma^2/2.

  `mean` and `cv` are those of the law before it is cut to the bounds.
  """
  variance = math.log1p(lengths.cv**2)
  mu = math.log(lengths.mean) - variance / 2
  normal = rng.standard_normal(count)
  tokens = np.rint(np.exp(mu + math.sqrt(variance) * normal))
  low, high = lengths.low, lengths.high or MAX_TOKENS
  return Draw(
      np.clip(tokens, low, high).astype(np.int64),
      raised_to_low=int((tokens < low).sum()),
      cut_to_high=int((tokens > high).sum()),
  )
