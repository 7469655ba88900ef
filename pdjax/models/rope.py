"""Rotary positions: how fast each pair of a head turns, and how that is
stretched for contexts longer than a model was first trained on.

Plain arithmetic on the host; the transformer makes tables of it.

Dimension key: docs/notation.md.
"""

import dataclasses
import math

import numpy as np


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Llama3Rope:
  """Slow pairs turn `factor` times slower, fast ones as before (Llama 3.1).

  A pair is slow if it turns fewer than `low_freq_factor` times within the
  original context, fast above `high_freq_factor`; between, the two are mixed
  (arXiv 2407.21783; the rule as in meta-llama/llama-models).
  """

  factor: float
  low_freq_factor: float
  high_freq_factor: float
  original_context: int

  def stretched(self, turn_H: np.ndarray, theta: float) -> np.ndarray:
    """The turns a position of each pair, in radians, after stretching."""
    del theta
    turns_H = self.original_context * turn_H / (2 * math.pi)
    span = self.high_freq_factor - self.low_freq_factor
    fast_H = np.clip((turns_H - self.low_freq_factor) / span, 0, 1)
    return fast_H * turn_H + (1 - fast_H) * turn_H / self.factor

  @property
  def attention_factor(self) -> float:
    """Multiplies cosine and sine."""
    return 1.0


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class YarnRope:
  """As above, but mixed along the pairs' index, and scores are sharpened.

  YaRN, arXiv 2309.00071, section 3.2 (bounds beta) and 3.4 (temperature).
  """

  factor: float
  original_context: int
  fast_turns: float = 32.0
  """Pairs with more turns in the original context stay as they are."""
  slow_turns: float = 1.0
  """Pairs with fewer turn `factor` times slower."""
  sharpness: float | None = None
  """Multiplies cosine and sine; None is 0.1 ln(factor) + 1."""

  def stretched(self, turn_H: np.ndarray, theta: float) -> np.ndarray:
    """The turns a position of each pair, in radians, after stretching."""
    half = len(turn_H)
    first, last = (
        self._pair(turns, half, theta)
        for turns in (self.fast_turns, self.slow_turns)
    )
    first, last = max(math.floor(first), 0), min(math.ceil(last), 2 * half - 1)
    slow_H = np.clip((np.arange(half) - first) / max(last - first, 1e-3), 0, 1)
    return (1 - slow_H) * turn_H + slow_H * turn_H / self.factor

  def _pair(self, turns: float, half: int, theta: float) -> float:
    """Index of the pair that turns so often within the original context."""
    radians = self.original_context / (turns * 2 * math.pi)
    return half * math.log(radians) / math.log(theta)

  @property
  def attention_factor(self) -> float:
    """Multiplies cosine and sine."""
    if self.sharpness is not None:
      return self.sharpness
    return 0.1 * math.log(self.factor) + 1.0


RopeScaling = Llama3Rope | YarnRope


def turns(
    head_dim: int, theta: float, scaling: RopeScaling | None
) -> np.ndarray:
  """Radians a position of each pair, [H / 2] in float64."""
  half = head_dim // 2
  turn_H = theta ** -(np.arange(half) / half)
  return turn_H if scaling is None else scaling.stretched(turn_H, theta)
