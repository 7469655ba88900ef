"""A measured run beside its simulation: the error of every figure.

The simulator serves the same requests with the same policy, pages and split;
only the clock is another. So what differs is the error of the step costs, and
of taking each worker's steps not to depend on what the other workers do.
"""

import dataclasses
from collections.abc import Sequence

from pdjax.calibrate.fit import FittedCost
from pdjax.config import Run
from pdjax.events import Arrived, Log
from pdjax.metrics.requests import request_table
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import policy_of, world_of
from pdjax.simulate.backend import SimulatedBackend
from pdjax.simulate.links import Link
from pdjax.workload.clients import Open

FIGURES = (
    ("ttft", 50), ("ttft", 99), ("tpot", 50), ("tpot", 99), ("itl", 50),
    ("itl", 99), ("e2el", 50),
)


@dataclasses.dataclass(frozen=True, slots=True)
class Compared:
  """One figure of a run, measured and simulated, in milliseconds."""

  metric: str
  percentile: int
  measured_ms: float
  simulated_ms: float

  @property
  def error(self) -> float:
    """Signed, relative to the measured figure."""
    return self.simulated_ms / self.measured_ms - 1.0


def simulate_again(
    log: Log,
    run: Run,
    cost: FittedCost,
    link: Link,
    pool_pages: Sequence[int],
) -> Log:
  """Serves a measured log's requests on the virtual clock."""
  table = request_table(log)
  requests = [
      entry.request for _, entry in log if isinstance(entry, Arrived)
  ]
  made = dict(zip(table["request"], table["output_tokens"], strict=True))
  workers = len(pool_pages)
  backend = SimulatedBackend(
      Open(sorted(requests, key=lambda r: (r.arrival_ps, r.id))),
      [max(1, int(made[request])) for request in range(len(made))],
      [cost] * workers,
      [link] * workers,
      dispatch_ahead=run.engine.dispatch_ahead,
  )
  return serve(policy_of(run), backend, world_of(run, pool_pages))


def compare(measured: Log, simulated: Log, run: Run) -> list[Compared]:
  """The figures that exist in both."""
  anchor = run.strategy.first_token or "at_prefill"
  tables = [request_table(log, anchor) for log in (measured, simulated)]
  compared = []
  for metric, percentile in FIGURES:
    ours, theirs = (
        table.sample(metric).percentile(percentile) for table in tables
    )
    if ours and theirs is not None:
      compared.append(Compared(metric, percentile, ours / 1e6, theirs / 1e6))
  return compared
