"""Requests served on the simulated cluster that a config describes."""

from pdjax.config import Run
from pdjax.metrics.requests import RequestTable, request_table
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import world_of
from pdjax.simulate.cluster import cluster_of
from pdjax.simulate.scalars import Scalars
from pdjax.simulate.stepcosts import policy_for
from pdjax.workload.build import build
from pdjax.workload.workload import Workload


def simulated(
    run: Run,
    scalars: Scalars | None = None,
    workload: Workload | None = None,
) -> RequestTable:
  """Every request of the run, with as much KV as its source states.

  Args:
    run: the config.
    scalars: as in `cluster_of`.
    workload: what is served; None builds the config's own.

  Raises:
    ConfigError: the config describes no workload or no cluster.
  """
  load = workload or build(run.workload)
  cluster = cluster_of(run, scalars, engines_kv=True)
  backend = cluster.backend(load.clients(), load.output_tokens)
  log = serve(policy_for(run), backend, world_of(run, cluster.pool_pages))
  return request_table(log)
