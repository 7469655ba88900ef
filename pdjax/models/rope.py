"""Rotary positions: how fast each pair of a head turns, and how that is
stretched for contexts longer than a model was first trained on.

Plain arithmetic; the transformer makes tables of it. A turn is in radians a
position; pairs are counted from the fastest.

Dimension key: docs/notation.md.
"""

import dataclasses
import math


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

  def slowness(self, turns: list[float], theta: float) -> list[float]:
    """How far each pair is to be slowed: 0 not at all, 1 by the factor."""
    del theta
    span = self.high_freq_factor - self.low_freq_factor
    counts = [self.original_context * turn / (2 * math.pi) for turn in turns]
    return [_cut((self.high_freq_factor - count) / span) for count in counts]

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

  def slowness(self, turns: list[float], theta: float) -> list[float]:
    """How far each pair is to be slowed: 0 not at all, 1 by the factor."""
    half = len(turns)
    first, last = (
        self._pair(count, half, theta)
        for count in (self.fast_turns, self.slow_turns)
    )
    first, last = max(math.floor(first), 0), min(math.ceil(last), 2 * half - 1)
    return [_cut((i - first) / max(last - first, 1e-3)) for i in range(half)]

  def _pair(self, count: float, half: int, theta: float) -> float:
    """Index of the pair that turns so often within the original context."""
    turns_per_radian = self.original_context / (count * 2 * math.pi)
    return half * math.log(turns_per_radian) / math.log(theta)

  @property
  def attention_factor(self) -> float:
    """Multiplies cosine and sine."""
    if self.sharpness is not None:
      return self.sharpness
    return 0.1 * math.log(self.factor) + 1.0


RopeScaling = Llama3Rope | YarnRope


def turns(
    head_dim: int, theta: float, scaling: RopeScaling | None
) -> list[float]:
  """The turn of each pair: H / 2 numbers.

  >>> turns(4, 100.0, None)
  [1.0, 0.1]
  """
  half = head_dim // 2
  plain = [theta ** -(i / half) for i in range(half)]
  if scaling is None:
    return plain
  return [
      turn * (1 - slow + slow / scaling.factor)
      for turn, slow in zip(plain, scaling.slowness(plain, theta), strict=True)
  ]


def _cut(share: float) -> float:
  return min(max(share, 0.0), 1.0)
