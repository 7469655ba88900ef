"""A measured run beside its simulation: the error of every figure.

The simulator serves the same requests with the same policy, pages and split;
only the clock is another. So what differs is the error of the step costs, and
of how workers that share a host are said to disturb each other.
"""

import dataclasses
import math
import statistics
from collections.abc import Sequence
from typing import Any

from pdjax.config import Run
from pdjax.events import Arrived, Log
from pdjax.faults import plan_of
from pdjax.metrics.percentiles import needed
from pdjax.metrics.requests import RequestTable, request_table
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import world_of
from pdjax.schedule.staging import Budgets
from pdjax.simulate.fittedcost import FittedCost
from pdjax.simulate.hostshare import SharedBackend
from pdjax.simulate.links import Link
from pdjax.simulate.stepcosts import policy_for
from pdjax.workload.clients import Open

FIGURES = tuple(
    (metric, percentile)
    for metric in ("ttft", "tpot", "itl", "e2el")
    for percentile in (50, 90, 99)
)


@dataclasses.dataclass(frozen=True, slots=True)
class Compared:
  """One figure of a run, measured and simulated, in milliseconds."""

  metric: str
  percentile: int
  measured_ms: float
  simulated_ms: float
  values: int
  """Measured values that the percentile is of."""

  @property
  def error(self) -> float:
    """Signed, relative to the measured figure."""
    return self.simulated_ms / self.measured_ms - 1.0

  @property
  def few(self) -> str:
    """`n<300` where these are fewer values than its percentile needs."""
    least = needed(self.percentile)
    return f"n<{least}" if self.values < least else ""


def simulate_again(
    log: Log,
    run: Run,
    costs: Sequence[FittedCost],
    link: Link,
    pool_pages: Sequence[int],
    staging_pages: Budgets | None = None,
) -> Log:
  """Serves a measured log's requests on the virtual clock, faults and all.

  `costs`, `pool_pages` and `staging_pages` are by worker.
  """
  table = request_table(log)
  requests = [
      entry.request for _, entry in log if isinstance(entry, Arrived)
  ]
  made = dict(zip(table["request"], table["output_tokens"], strict=True))
  workers = len(pool_pages)
  backend = SharedBackend(
      Open(sorted(requests, key=lambda r: (r.arrival_ps, r.id))),
      [max(1, int(made[request])) for request in range(len(made))],
      costs,
      [link] * workers,
      fitted=costs,
      dispatch_ahead=run.engine.dispatch_ahead,
      plan=plan_of(run.faults, workers),
      verify=bool(run.strategy.transfer and run.strategy.transfer.verify),
  )
  world = world_of(run, pool_pages, staging_pages)
  return serve(policy_for(run), backend, world)


def compare(
    measured: RequestTable,
    simulated: RequestTable,
    figures: Sequence[tuple[str, int]] = FIGURES,
) -> list[Compared]:
  """The figures that exist in both."""
  compared = []
  for metric, percentile in figures:
    samples = [table.sample(metric) for table in (measured, simulated)]
    ours, theirs = (sample.percentile(percentile) for sample in samples)
    if ours and theirs is not None:
      compared.append(
          Compared(
              metric, percentile, ours / 1e6, theirs / 1e6, samples[0].total
          )
      )
  return compared


def middle(repeats: Sequence[Sequence[Compared]]) -> list[Compared]:
  """Figures of a run that was measured several times: the median of them."""
  return [
      dataclasses.replace(
          same[0], measured_ms=statistics.median(c.measured_ms for c in same)
      )
      for same in _by_figure(repeats)
  ]


def noise_floor(
    repeats: Sequence[Sequence[Compared]]
) -> dict[tuple[str, int], float]:
  """By metric and percentile: what repeats differ by, over their median.

  Empty of a run that was measured once.
  """
  floor = {}
  for same in _by_figure(repeats) if len(repeats) > 1 else ():
    measured = [c.measured_ms for c in same]
    widest = max(measured) - min(measured)
    at = (same[0].metric, same[0].percentile)
    floor[at] = widest / statistics.median(measured)
  return floor


def _by_figure(
    repeats: Sequence[Sequence[Compared]]
) -> list[list[Compared]]:
  """Of each figure that every repeat has: one of each repeat."""
  found: dict[tuple[str, int], list[Compared]] = {}
  for figures in repeats:
    for one in figures:
      found.setdefault((one.metric, one.percentile), []).append(one)
  return [same for same in found.values() if len(same) == len(repeats)]


def rank_correlation(
    measured: Sequence[float], simulated: Sequence[float]
) -> float | None:
  """Kendall's tau-b of two orders of the same designs; None of fewer than 3."""
  from scipy.stats import kendalltau

  if len(measured) < 3:
    return None
  tau: Any = kendalltau(measured, simulated)[0]
  return None if math.isnan(tau) else float(tau)


def lost_by_choice(
    measured: Sequence[float], simulated: Sequence[float]
) -> float | None:
  """Share of the best measured goodput lost by the simulator's choice."""
  best = max(measured, default=0.0)
  if not best:
    return None
  chosen = measured[max(range(len(simulated)), key=simulated.__getitem__)]
  return 1.0 - chosen / best
