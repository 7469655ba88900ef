"""Arrival processes: times at which requests arrive, by rate.

Every process starts with a request at time 0. The gaps are drawn at rate 1 and
divided by the rate, so one seed at two rates gives the same pattern on two
time scales, and a longer run begins with the shorter one.

Units: `rate` requests per second; `_ps` integer picoseconds.
"""

import numpy as np

from pdjax.config import ConfigError

PS_PER_S = 10**12
LIMIT_PS = 2**62
"""Half of what an int64 holds."""
LIMIT_TEXT = "53 days"


def poisson(count: int, rate: float, rng: np.random.Generator) -> np.ndarray:
  """Independent exponential gaps; coefficient of variation 1."""
  return _from_gaps(rng.standard_exponential(count - 1), rate)


def gamma(
    count: int, rate: float, cv: float, rng: np.random.Generator
) -> np.ndarray:
  """Independent gamma gaps; above `cv` 1 they come in bursts.

  A gamma law of shape k has coefficient of variation 1 / sqrt(k).
  """
  shape = cv**-2
  return _from_gaps(rng.standard_gamma(shape, count - 1) / shape, rate)


def constant(count: int, rate: float) -> np.ndarray:
  """Equal gaps."""
  return _from_gaps(np.ones(count - 1), rate)


def all_at_once(count: int) -> np.ndarray:
  """All at time 0."""
  return np.zeros(count, dtype=np.int64)


def _from_gaps(gaps: np.ndarray, rate: float) -> np.ndarray:
  gap_ps = np.rint(gaps * (PS_PER_S / rate))
  if gap_ps.sum() > LIMIT_PS:
    raise ConfigError([
        f"workload.rate={rate!r}: {gaps.size + 1} requests would arrive over"
        f" {gap_ps.sum() / PS_PER_S:.3g} seconds; the limit is {LIMIT_TEXT}"
    ])
  return np.concatenate([[0], np.cumsum(gap_ps.astype(np.int64))])
