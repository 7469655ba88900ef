"""How requests arrive, said or implied."""

from pdjax import config

RATED = ("poisson", "gamma", "constant", "semi_open")
"""Arrivals that need `workload.rate`."""


def arrival_of(workload: config.Workload) -> str:
  """The arrival process, said or implied."""
  implied = "poisson" if workload.kind == "synthetic" else "trace"
  return workload.arrival or implied


def timed(workload: config.Workload) -> bool:
  """Whether requests are counted by a window instead of a number.

  A loop's are not: how many it sends depends on the system.
  """
  return workload.protocol == "steady" and arrival_of(workload) in (
      "poisson", "gamma", "constant", "trace"
  )
