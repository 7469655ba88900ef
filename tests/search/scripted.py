"""Searches served by a function in the place of a cluster."""

import math

import numpy as np

from pdjax.config import SLO
from pdjax.search.asking import NoRun
from pdjax.search.contest import Plan
from pdjax.search.designs import Design, Rival
from tests.metrics.queues import Queue, arrivals, times_in_system

SHARE = 0.9
SLO_ = SLO(ttft_s=1.0, attainment=SHARE)


def serve(search, run):
  """What a search ends with; `run(probe)` is a row or why there is none.

  Also all probes, in the order in which they were first asked for.
  """
  rows = {}
  try:
    wanted = next(search)
    while True:
      for probe in wanted:
        if probe not in rows:
          rows[probe] = run(probe)
      wanted = search.send({probe: rows[probe] for probe in wanted})
  except StopIteration as end:
    return end.value, list(rows)


def row(good, sent):
  """A summary as far as a search looks at it."""
  return {
      "sent": sent, "aborted": 0, "slo_attainment": good / sent,
      "slo_met": good / sent >= SHARE, "flags": [], "doubtful": False,
  }


def until(limits):
  """Serves every request up to a rate that each design has, half beyond."""

  def run(probe):
    return row(1000 if probe.rate <= limits[probe.design] else 500, 1000)

  return run


def mm1(limit_s, requests=1500, warmup=300, shift=0):
  """M/M/1 queues with service rate 1 that must answer within `limit_s`.

  Seeds share arrivals across designs, not services; overloaded ones fail.
  """

  def run(probe):
    if probe.rate >= 0.99:
      return row(0, requests)
    queue = Queue(probe.rate, warmup, requests)
    rng = np.random.default_rng([probe.seed, shift])
    gaps = arrivals(queue, 1, rng)
    rng = np.random.default_rng([probe.seed, shift, 1 + probe.design])
    times = times_in_system(queue, gaps, rng)
    return row(int((times <= limit_s).sum()), requests)

  return run


def highest_rate(limit_s):
  """At which exactly `SHARE` of an M/M/1 queue's times are within a limit."""
  return 1 + math.log(1 - SHARE) / limit_s


def design(number=0, chips=1, **values):
  return Design(
      number=number, label=f"d{number}", chips=chips, values=values
  )


def rival(name, *designs, family="colocated"):
  return Rival(name=name, family=family, designs=designs)


def plan(**said):
  return Plan(**{
      "first_per_chip": 1.0, "seeds": tuple(range(8)),
      "tune_seeds": (100, 101), "tolerance": 0.05, "doublings": 10,
      "slo": SLO_,
  } | said)


def no_run(reason="no", failed=False):
  return NoRun(reason, failed)
