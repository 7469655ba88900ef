"""Whether the load bounds a goodput: all that is offered is served.

Then designs differ in how long their last requests take, and in nothing that a
goodput means. Not so where all come at once, or each after an answer: there a
faster design serves more.
"""

from collections.abc import Sequence
from statistics import fmean

from pdjax.metrics.flags import LOOPS, QUEUE_GREW
from pdjax.report.groups import ReportedRun

EQUAL = 0.005
"""Ratios this near to 1 are none; nor is this share of requests any."""
RAISE = "raise the rate, or search for goodput"
BOTH_ALL = (
    "both serve all that is offered within the SLO: goodput is bounded by the"
    f" load, so this decides nothing; {RAISE}"
)


def serve_all(runs: Sequence[ReportedRun]) -> bool:
  """Of a design's runs at one rate: all requests kept the SLO, none queued up.

  False also where that is not known.
  """
  shares = [run.summary.get("slo_attainment") for run in runs]
  known = [share for share in shares if share is not None]
  if not known or len(known) < len(shares) or fmean(known) < 1 - EQUAL:
    return False
  return not any(
      run.summary.get("offered_rate") is None
      or QUEUE_GREW in run.summary.get("flags", ())
      or run.conditions["contract"].get("arrival") in LOOPS
      for run in runs
  )
