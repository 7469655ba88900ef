"""From a config to a world and a policy; the same for every backend."""

from collections.abc import Sequence

from pdjax.config import (
  LOCAL_PROMPT_TOKENS,
  WHOLE_PROMPT_TOKENS,
  ConfigError,
  Pool,
  RoleChange,
  Run,
  TransferPlan,
  lanes_of,
  most_seqs,
  pools_of,
)
from pdjax.policyfile import factory_of
from pdjax.schedule import lanes
from pdjax.schedule.adaptive import AdaptiveChunk
from pdjax.schedule.batching import Batching, ByWorker, Continuous, Static
from pdjax.schedule.conditional import Conditional
from pdjax.schedule.cost import StepCost
from pdjax.schedule.elastic import Elastic
from pdjax.schedule.loop import Policy
from pdjax.schedule.placement import Colocated, Disaggregated, Placement
from pdjax.schedule.policies import (
  Composed,
  Joins,
  anyone_joins,
  decodes_join,
  head_joins,
  nobody_joins,
)
from pdjax.schedule.recovery import Recovery
from pdjax.schedule.routing import router
from pdjax.schedule.vllm import VllmV1
from pdjax.schedule.worker import WorkerSpec
from pdjax.schedule.world import World
from pdjax.userscode import users_code


def worker_pools(run: Run) -> list[Pool]:
  """The pool of each worker, by worker number."""
  return [pool for pool in pools_of(run) for _ in range(pool.count)]


def world_of(
    run: Run,
    pool_pages: Sequence[int],
    staging_pages: Sequence[int | None] | None = None,
) -> World:
  """An empty world.

  Args:
    run: the config.
    pool_pages: usable pages of each worker.
    staging_pages: of each, see `pdjax.schedule.staging`; None: no budget.

  Raises:
    ValueError: the config has a staging budget that is not passed on.
  """
  strategy, cluster = run.strategy, run.cluster
  if staging_pages is None:
    if strategy.transfer and strategy.transfer.staging_bytes is not None:
      raise ValueError("a staging budget without pages: pass staging_pages")
    staging_pages = [None] * len(pool_pages)
  specs = [
      WorkerSpec(
          id=index,
          role=pool.role,
          pool_pages=pages,
          page_tokens=cluster.page_tokens,
          max_num_seqs=pool.max_num_seqs or most_seqs(strategy),
          reserve_pages=(
              0 if strategy.kind == "vllm_v1" else cluster.reserve_pages
          ),
          chunk_size=pool.chunk_size,
          max_num_batched_tokens=(
              strategy.max_num_batched_tokens or WHOLE_PROMPT_TOKENS
          ),
          lanes=1 if lanes_of(strategy) is None else lanes.LANES,
          prefix_cache=bool(strategy.prefix_cache),
          host_pages=(cluster.host_kv_tokens or 0) // cluster.page_tokens,
          staging_pages=staged,
      )
      for index, (pool, pages, staged) in enumerate(
          zip(worker_pools(run), pool_pages, staging_pages, strict=True)
      )
  ]
  return World(specs)


def policy_of(run: Run, costs: Sequence[StepCost] = ()) -> Policy:
  """The strategy's policy, fresh.

  Args:
    costs: of steps, by worker; `simulate.stepcosts` makes those of a config.

  Raises:
    ConfigError: a user's module cannot be imported or is no policy; the
      strategy asks for costs and there are none.
  """
  strategy = run.strategy
  if ":" in strategy.kind:
    return _users_policy(run)
  return Composed(placement_of(run), *rule_of(run, costs))


def rule_of(
    run: Run, costs: Sequence[StepCost] = ()
) -> tuple[Batching, Joins]:
  """A built-in strategy's batching rule, and who joins its runs."""
  strategy = run.strategy
  if strategy.kind == "static":
    return Static(), nobody_joins
  if strategy.kind == "continuous":
    decode_first = strategy.priority == "decode_first"
    return Continuous(decode_first=decode_first), head_joins
  if strategy.kind == "vllm_v1":
    return VllmV1(), head_joins
  if strategy.kind == "lanes":
    return lanes.Lanes(), decodes_join
  if strategy.kind == "adaptive_chunk":
    return _adaptive(run, costs), head_joins
  return ByWorker(), head_joins


def _adaptive(run: Run, costs: Sequence[StepCost]) -> AdaptiveChunk:
  limit_s = run.slo.tpot_s
  if not costs or limit_s is None:
    raise ConfigError([
        "strategy.kind: adaptive_chunk needs step costs and slo.tpot_s"
    ])
  return AdaptiveChunk(costs, round(limit_s * 10**12))


def placement_of(run: Run) -> Placement:
  """Colocated where the split has C workers only, else handing over."""
  strategy = run.strategy
  routers = router(strategy.router), router(strategy.router)
  recovery = Recovery(run.faults)
  plan = strategy.transfer or TransferPlan()
  if strategy.kind == "conditional":
    most_tokens = strategy.local_prompt_tokens
    if most_tokens is None:
      most_tokens = LOCAL_PROMPT_TOKENS
    return Conditional(
        *routers, most_tokens, strategy.local_prefix_share, plan, recovery
    )
  if strategy.kind == "elastic":
    rule = strategy.elastic or RoleChange()
    return Elastic(*routers, rule, plan, recovery)
  if any(pool.role == "P" for pool in pools_of(run)):
    return Disaggregated(*routers, plan, recovery=recovery)
  return Colocated(routers[0], recovery)


def _users_policy(run: Run) -> Policy:
  kind, factory = run.strategy.kind, factory_of(run.strategy.kind)
  with users_code(f"strategy.options of {kind!r}"):
    made = factory(**run.strategy.options)
    decides, batches = hasattr(made, "decide"), hasattr(made, "batch")
  if decides:
    return made
  if batches:
    return Composed(placement_of(run), made, anyone_joins)
  raise ConfigError([
      f"strategy.kind: {kind!r} made a {type(made).__name__} with neither"
      " `batch(worker, world)` nor `decide(event, world)`"
  ])
