"""A config's workload served on the simulated cluster that it describes."""

from pdjax.config import Run
from pdjax.metrics.requests import RequestTable, request_table
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import world_of
from pdjax.simulate.cluster import cluster_of
from pdjax.simulate.scalars import Scalars
from pdjax.simulate.stepcosts import policy_for
from pdjax.workload.build import build


def simulated(run: Run, scalars: Scalars | None = None) -> RequestTable:
  """Every request of the run; `scalars` as in `cluster_of`.

  Raises:
    ConfigError: the config describes no workload or no cluster.
  """
  workload, cluster = build(run.workload), cluster_of(run, scalars)
  backend = cluster.backend(workload.clients(), workload.output_tokens)
  log = serve(policy_for(run), backend, world_of(run, cluster.pool_pages))
  return request_table(log)
