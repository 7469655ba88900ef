"""Simulated runs of the smallest model, a moment each."""

import dataclasses

from pdjax import config
from pdjax.metrics.requests import table_of
from pdjax.reads import resolved
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import policy_of, world_of
from pdjax.simulate.cluster import cluster_of
from pdjax.workload.build import build

STEADY = {"protocol": "steady", "duration_s": 0.3, "warmup_s": 0.1}
"""Of a workload: a window of about 60 requests."""

_WORKLOAD = config.Workload(
    rate=200.0,
    prompt=config.Lengths(kind="fixed", mean=64.0),
    output=config.Lengths(kind="fixed", mean=16.0),
)


def served(slo=None, **workload):
  """(config, log, table of all requests) of 60 requests at 200/s."""
  if workload.get("protocol") != "steady":
    workload.setdefault("num_requests", 60)
  run = resolved(config.Run(
      model=config.Model(preset="tiny"),
      cluster=config.Cluster(split="1C", chip="h100-sxm"),
      workload=dataclasses.replace(_WORKLOAD, **workload),
      slo=slo or config.SLO(),
  ))
  load = build(run.workload)
  cluster = cluster_of(run)
  backend = cluster.backend(load.clients(), load.output_tokens)
  log = serve(policy_of(run), backend, world_of(run, cluster.pool_pages))
  return run, log, table_of(log, run)
