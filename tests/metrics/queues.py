"""Queues whose truth is known in closed form, many at a time.

M/M/1, first come first served, service rate 1: the time in the system is
exponential with rate 1 - utilisation, so the share of requests within a limit
is known. Requests wait for each other exactly as in a server: the Lindley
recursion, vectorised as a running minimum.

Arrays are [runs, requests], in mean service times.
"""

import math
from typing import NamedTuple

import numpy as np


class Queue(NamedTuple):
  """How loaded, how long until it has settled, how long it is measured."""

  utilisation: float
  warmup: int
  requests: int

  def limit(self, share: float) -> float:
    """What exactly `share` of all times in the system stay within."""
    return -math.log(1 - share) / (1 - self.utilisation)


def arrivals(
    queue: Queue, runs: int, rng: np.random.Generator
) -> np.ndarray:
  """Gaps between arrivals, warm-up included."""
  shape = (runs, queue.warmup + queue.requests)
  return rng.standard_exponential(shape) / queue.utilisation


def times_in_system(
    queue: Queue, gaps: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
  """Of the requests after the warm-up; each run starts empty."""
  service = rng.standard_exponential(gaps.shape)
  work = np.zeros_like(service)
  np.cumsum(service[:, :-1] - gaps[:, 1:], axis=1, out=work[:, 1:])
  wait = work - np.minimum.accumulate(work, axis=1)
  return (wait + service)[:, queue.warmup :]
