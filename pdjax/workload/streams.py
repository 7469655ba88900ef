"""Independent random streams of one seed.

Changing one law leaves the draws of the others as they were.
"""

import enum

import numpy as np

from pdjax import config


class Stream(enum.IntEnum):
  """What is drawn; the numbers are part of every workload's identity."""

  ARRIVALS = 0
  PROMPTS = 1
  OUTPUTS = 2
  THINKING = 3
  STAYING = 4
  JITTER = 5
  CANCELLING = 6
  TURNS = 7


def rng_of(workload: config.Workload, stream: Stream) -> np.random.Generator:
  return np.random.default_rng(
      np.random.SeedSequence(workload.seed, spawn_key=(int(stream),))
  )
