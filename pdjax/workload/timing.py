"""When requests come: drawn times, and how users of a loop behave.

Units: `_ps` integer picoseconds from the start of the run.
"""

import math

import numpy as np

from pdjax import config
from pdjax.reads import arrival_of
from pdjax.workload import arrivals
from pdjax.workload.arrivals import PS_PER_S
from pdjax.workload.clients import Behaviour, Pauses
from pdjax.workload.streams import Stream, rng_of


def drawn(workload: config.Workload, count: int) -> np.ndarray:
  """Times of `count` arrivals; a longer draw begins with the shorter one.

  Of loops, whose times only the run will tell, zeros.
  """
  rng, rate = rng_of(workload, Stream.ARRIVALS), workload.rate or 0.0
  match arrival_of(workload):
    case "poisson":
      return arrivals.poisson(count, rate, rng)
    case "gamma":
      return arrivals.gamma(count, rate, workload.arrival_cv, rng)
    case "constant":
      return arrivals.constant(count, rate)
    case _:
      return arrivals.all_at_once(count)


def drawn_until(
    workload: config.Workload, end_ps: int, at_most: int | None = None
) -> np.ndarray:
  """Times of all arrivals before `end_ps`, or of the first `at_most`."""
  limit = math.inf if at_most is None else at_most
  expected = (workload.rate or 0.0) * end_ps / PS_PER_S
  count = min(2 + math.ceil(1.1 * expected), limit)
  while (times_ps := drawn(workload, int(count)))[-1] < end_ps:
    if count == limit:
      return times_ps
    count = min(2 * count, limit)
  return times_ps[: np.searchsorted(times_ps, end_ps)]


def behaviour_of(
    workload: config.Workload, count: int
) -> Behaviour | Pauses | None:
  """What users do around `count` requests; None where none waits for another.
  """
  if workload.turns is not None:
    return Pauses(think_ps=_pauses_ps(workload, count))
  match arrival_of(workload):
    case "closed":
      first_ps = arrivals.all_at_once(workload.concurrency or 1)
      stays = np.ones(count, bool)
    case "semi_open":
      # `rate` counts requests: a user has 1 / (1 - p) of them on average.
      leaving = 1 - workload.stay_probability
      first_ps = arrivals.poisson(
          count, (workload.rate or 0.0) * leaving,
          rng_of(workload, Stream.ARRIVALS),
      )
      stays = rng_of(workload, Stream.STAYING).random(count) >= leaving
    case _:
      return None
  return Behaviour(
      first_ps=tuple(first_ps.tolist()),
      think_ps=_pauses_ps(workload, count),
      stays=tuple(stays.tolist()),
  )


def _pauses_ps(workload: config.Workload, count: int) -> tuple[int, ...]:
  """After each of `count` requests."""
  pauses = rng_of(workload, Stream.THINKING).standard_exponential(count)
  think_ps = np.rint(pauses * workload.think_time_s * PS_PER_S)
  return tuple(think_ps.astype(np.int64).tolist())
