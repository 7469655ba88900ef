"""Which programs are compiled: of each different worker, one of each shape.

By default the largest of each kind, which needs most memory; the smaller ones
differ in nothing that could fail.
"""

import dataclasses

from pdjax import buckets, config, memory
from pdjax.aot.target import Target
from pdjax.buckets import Shape
from pdjax.config import ConfigError, Pool, Run
from pdjax.dtypes import Dtypes
from pdjax.engine import capacity
from pdjax.models.sizes import spec_of
from pdjax.models.spec import ModelSpec
from pdjax.schedule.setup import worker_pools
from pdjax.simulate.cluster import footprint
from pdjax.workload.workload import Workload


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
  """One worker's programs on one target."""

  run: Run
  """With the pool's size said for every worker."""
  worker: int
  """The first of its kind."""
  count: int
  """Workers of its kind."""
  pool: Pool
  shapes: tuple[Shape, ...]
  least_tokens: int
  """The smallest pool that makes sense; the pool's own size if it was said."""
  R: int
  """Prompt chunks in a pass."""


def jobs(
    run: Run, workload: Workload, target: Target, *, all_buckets: bool
) -> list[Job]:
  """A job for each sort of worker.

  Raises:
    ConfigError: the engine cannot run it, or the target has too few chips.
  """
  spec = spec_of(run.model)
  said = [pool.kv_tokens for pool in worker_pools(run)]
  run = _sized(run, spec, workload, target)
  capacity.check(run, spec, workload)
  _check_chips(run, target)
  limits = capacity.limits_of(run, spec, workload)
  sorts = list(zip(worker_pools(run), limits, strict=True))
  made = []
  for sort in dict.fromkeys(sorts):
    plan = buckets.plan(sort[1], run.engine.max_programs)
    worker = sorts.index(sort)
    made.append(Job(
        run=run, worker=worker, count=sorts.count(sort), pool=sort[0],
        shapes=_chosen(plan.shapes(), all_buckets), R=plan.R,
        least_tokens=said[worker] or sort[1].M * run.cluster.page_tokens,
    ))
  return made


def _chosen(shapes: list[Shape], all_buckets: bool) -> tuple[Shape, ...]:
  if all_buckets:
    return tuple(shapes)
  largest = {shape.kind: shape for shape in shapes}  # ladders ascend
  return tuple(largest.values())


def smaller(job: Job) -> Job | None:
  """The job with a quarter of its pool; None if that would be too little."""
  page_tokens, tokens = job.run.cluster.page_tokens, job.pool.kv_tokens or 0
  tokens = tokens // 4 // page_tokens * page_tokens
  if tokens < job.least_tokens:
    return None
  workers = worker_pools(job.run)
  pools = [dataclasses.replace(pool, count=1) for pool in workers]
  pools[job.worker] = dataclasses.replace(pools[job.worker], kv_tokens=tokens)
  cluster = dataclasses.replace(job.run.cluster, pools=tuple(pools))
  return dataclasses.replace(
      job, run=dataclasses.replace(job.run, cluster=cluster),
      pool=pools[job.worker],
  )


def _check_chips(run: Run, target: Target) -> None:
  needed = sum(pool.tp for pool in worker_pools(run))
  if needed > target.num_devices:
    raise ConfigError([
        f"cluster: its workers need {needed} devices, {target.name} has"
        f" {target.num_devices}"
    ])


def _sized(
    run: Run, spec: ModelSpec, workload: Workload, target: Target
) -> Run:
  """The run on real devices, every pool's size said.

  Where the config leaves it open a pool gets what the arithmetic leaves, or,
  if that is nothing, room for one request: the compiler has the last word.
  """
  pools = tuple(
      dataclasses.replace(
          pool,
          kv_tokens=pool.kv_tokens
          or _kv_tokens(run, pool, spec, workload, target),
      )
      for pool in config.pools_of(run)
  )
  return dataclasses.replace(
      run,
      backend=config.Backend(kind="jax"),
      cluster=dataclasses.replace(run.cluster, pools=pools),
  )


def _kv_tokens(
    run: Run, pool: Pool, spec: ModelSpec, workload: Workload, target: Target
) -> int:
  page_tokens = run.cluster.page_tokens
  try:
    pages = memory.pool_pages(
        footprint(run, pool, spec, Dtypes.all(run.model.dtype)),
        target.hbm_bytes, run.cluster.hbm_utilization, "worker",
    )
  except ConfigError:
    pages = config.pages_for(max(workload.total_tokens), page_tokens)
  return pages * page_tokens
