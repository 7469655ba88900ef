"""Intervals from one run: batch means with the effective sample size.

A run's requests, in order of arrival, are cut into a few long batches whose
means are nearly independent. What correlation is left between neighbours is
estimated and paid for as in a first-order autoregression, after Tafazzoli and
Wilson's Skart (IIE Transactions 2011), much simplified: ten batches, no
search for their length.

The effective sample size says how many independent requests would be worth as
much. Under `ENOUGH` of them a run is too short for its load: its batches are
not independent either, and it gets no bounds.
"""

import dataclasses

import numpy as np

from pdjax.metrics.intervals import CONFIDENCE, Interval, student, too_few
from pdjax.metrics.replications import share_interval

BATCHES = 10
LEAST_REQUESTS = 10 * BATCHES
ENOUGH = 100
"""Effective requests that bounds need."""

_METHOD = "batch means"
_MOST_CORRELATION = 0.8


def of_mean(values: np.ndarray, confidence: float = CONFIDENCE) -> Interval:
  """The mean of a figure that each request has, in order of arrival."""
  sample = np.asarray(values, np.float64)
  if len(sample) < LEAST_REQUESTS:
    mean = float(sample.mean()) if len(sample) else None
    return too_few(mean, 0, _METHOD, confidence)
  alone = float(sample.var(ddof=1)) / len(sample)
  variance = max(_error(sample) ** 2, alone)
  found = student(
      float(sample.mean()), variance**0.5, BATCHES, _METHOD,
      confidence=confidence,
      effective=len(sample) * alone / variance if variance else len(sample),
  )
  return _trusted(found)


def of_share(good: np.ndarray, confidence: float = CONFIDENCE) -> Interval:
  """The share of requests marked `good`, in order of arrival."""
  sample = np.asarray(good, np.float64)
  share = float(sample.mean()) if len(sample) else None
  if share is None or len(sample) < LEAST_REQUESTS:
    return too_few(share, 0, _METHOD, confidence)
  return _trusted(share_interval(
      share, _error(sample), len(sample), BATCHES, _METHOD, confidence
  ))


def _error(sample: np.ndarray) -> float:
  """Standard error of the mean."""
  length = len(sample) // BATCHES
  means = sample[: length * BATCHES].reshape(BATCHES, length).mean(axis=1)
  return error_of_mean(means)


def error_of_mean(batches: np.ndarray) -> float:
  """Standard error of the mean of values that neighbours may share."""
  count, apart = len(batches), batches - batches.mean()
  squares = float(apart @ apart)
  if not squares:
    return 0.0
  # Of few values the estimate is about 1 / their number too low.
  neighbours = float(apart[1:] @ apart[:-1]) / squares + 1 / count
  left = min(max(neighbours, 0.0), _MOST_CORRELATION)
  variance = squares / (count - 1) / count
  return (variance * (1 + left) / (1 - left)) ** 0.5


def _trusted(found: Interval) -> Interval:
  if found.effective is not None and found.effective >= ENOUGH:
    return found
  return dataclasses.replace(found, low=None, high=None)
