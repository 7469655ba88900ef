"""How sure the figures of one run are: bounds from the run itself.

A share and means over requests by batch means, pooled gaps by blocks of time.
One run tells little about rare events; several seeds tell more
(`pdjax.metrics.replications`).
"""

import numpy as np

from pdjax.config import SLO
from pdjax.metrics import batches, timeblocks
from pdjax.metrics.intervals import Interval
from pdjax.metrics.requests import RequestTable
from pdjax.metrics.slo import good_requests

_MEANS = ("ttft", "tpot", "e2el")
_GAPS = (50, 99)

Row = dict[str, float | None]


def bounds(table: RequestTable, slo: SLO) -> Row:
  """95 % bounds of a summary's figures; None where the run is too short."""
  order = np.argsort(table["arrival_ns"], kind="stable")
  row = _attainment(table, slo, order)
  done = order[table.finished[order]]
  for metric in _MEANS:
    values = np.ma.compressed(table[f"{metric}_ns"][done])
    row |= _ms(f"mean_{metric}", batches.of_mean(values))
  for at in _GAPS:
    row |= _ms(f"p{at}_itl", timeblocks.percentile(table.gaps, at))
  return row


def _attainment(table: RequestTable, slo: SLO, order: np.ndarray) -> Row:
  """`order`: of arrival."""
  good = good_requests(table, slo)
  if good is None:
    return {}
  place = np.cumsum(table.wanted) - 1
  found = batches.of_share(good[place[order[table.wanted[order]]]])
  return {
      "slo_attainment_low": found.low,
      "slo_attainment_high": found.high,
      "effective_requests": found.effective,
  }


def _ms(name: str, found: Interval) -> Row:
  return {
      f"{name}_{side}_ms": None if value is None else value / 1e6
      for side, value in (("low", found.low), ("high", found.high))
  }
