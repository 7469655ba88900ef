"""Values that cannot be: ranges, roles, and what one field needs of another.

All of it follows from the config alone: whether a file exists or a machine has
the devices is asked elsewhere, and so is whether a field is read at all
(`pdjax.reads`). Workloads and SLO terms check their own values.
"""

from collections.abc import Iterator
from typing import Any

from pdjax import config
from pdjax.config import Run, parse_split
from pdjax.fieldtypes import near
from pdjax.reads import roles_of

PAGE_TOKENS = (8, 16, 32, 64, 128)

_AT_LEAST: dict[str, float] = {
    "cluster.reserve_pages": 0,
    "cluster.link.latency_s": 0,
    "cluster.kv_tokens": 1,
    "cluster.host_devices": 1,
    "cluster.pools.count": 1,
    "cluster.pools.tp": 1,
    "cluster.pools.pp": 1,
    "cluster.pools.dp": 1,
    "cluster.pools.ep": 1,
    "cluster.pools.microbatches": 1,
    "cluster.pools.chunk_size": 1,
    "cluster.pools.max_num_seqs": 1,
    "cluster.pools.kv_tokens": 1,
    "strategy.chunk_size": 1,
    "strategy.max_num_batched_tokens": 1,
    "strategy.max_num_seqs": 1,
    "sampling.temperature": 0,
    "engine.verify_tokens": 0,
    "model.seed": 0,
    "sampling.seed": 0,
}
_ABOVE_ZERO = (
    "cluster.link.bandwidth_bytes_per_s",
    "cluster.hbm_utilization",
    "slo.ttft_s",
    "slo.tpot_s",
    "slo.attainment",
)
_AT_MOST: dict[str, float] = {
    "cluster.hbm_utilization": 1,
    "slo.attainment": 1,
}


def problems(run: Run) -> list[str]:
  """A line for each value that does not fit the others."""
  return [
      *_cluster_problems(run),
      *_strategy_problems(run),
      *_slo_problems(run),
  ]


def out_of_range(run: Run) -> list[str]:
  """A line for each number outside its range, each field by itself."""
  lines = []
  for path, low in _AT_LEAST.items():
    for place, value in _numbers(run, path):
      if value < low:
        lines.append(f"{place}: must be at least {low}, got {value}")
  for path in _ABOVE_ZERO:
    for place, value in _numbers(run, path):
      high = _AT_MOST.get(path)
      if value <= 0 or (high is not None and value > high):
        upto = "" if high is None else f" and at most {high}"
        lines.append(f"{place}: must be above 0{upto}, got {value}")
  if run.cluster.page_tokens not in PAGE_TOKENS:
    allowed = ", ".join(map(str, PAGE_TOKENS))
    lines.append(
        f"cluster.page_tokens: must be one of {allowed},"
        f" got {run.cluster.page_tokens}"
    )
  return lines


def _numbers(value: Any, path: str, place: str = "") -> Iterator[tuple]:
  """The numbers at a path with their places; tuples are gone through."""
  if value is None:
    return
  if isinstance(value, tuple):
    for index, item in enumerate(value):
      yield from _numbers(item, path, f"{place}[{index}]")
  elif path:
    name, _, rest = path.partition(".")
    place = f"{place}.{name}" if place else name
    yield from _numbers(getattr(value, name), rest, place)
  else:
    yield place, value


def _cluster_problems(run: Run) -> Iterator[str]:
  cluster = run.cluster
  try:
    split = parse_split(cluster.split)
  except ValueError as error:
    yield f"cluster.split: {error}"
    return
  for name in config.DEGREES:
    yield from _parallel_problems(f"cluster.{name}", cluster, name, split)
  if cluster.pools is not None and not cluster.pools:
    yield "cluster.pools: needs at least one pool"
    return
  if run.backend.kind == "simulated":
    if any(pool.chip is None for pool in config.pools_of(run)):
      yield (
          "cluster.chip: the simulated backend needs a chip, for instance"
          " 'h100-sxm'"
      )


def _parallel_problems(
    path: str, cluster: config.Cluster, name: str, split: dict[str, int]
) -> Iterator[str]:
  value = getattr(cluster, name)
  by_role = value if isinstance(value, dict) else {"": value}
  for role, degree in by_role.items():
    if role and role not in split:
      roles = ", ".join(split)
      yield (
          f"{path}.{role}: no such role in split {cluster.split!r}; allowed:"
          f" {roles}"
      )
    if degree < 1:
      place = f"{path}.{role}" if role else path
      yield f"{place}: must be at least 1, got {degree}"


def _strategy_problems(run: Run) -> Iterator[str]:
  kind = run.strategy.kind
  if run.strategy.router == "prefix_aware":
    yield (
        "strategy.router: 'prefix_aware' would change nothing: no worker keeps"
        " a prefix cache yet; use 'least_outstanding_tokens'"
    )
  if ":" in kind:
    return
  if kind not in config.BUILTIN_STRATEGIES:
    names = ", ".join(config.BUILTIN_STRATEGIES)
    wanted = near(kind, config.BUILTIN_STRATEGIES)
    yield (
        f"strategy.kind: unknown strategy {kind!r}; allowed: {names}, or"
        f" 'module:factory'{wanted}"
    )
    return
  roles = roles_of(run)
  wanted_roles = {"P", "D"} if kind == "disaggregated" else {"C"}
  if roles and roles != wanted_roles:
    example = "2P2D" if kind == "disaggregated" else "4C"
    said = "cluster.pools" if run.cluster.pools else "cluster.split"
    yield (
        f"{said}: {kind} runs on workers of role"
        f" {' and '.join(sorted(wanted_roles, reverse=True))}, such as"
        f" {example!r}; got {_split_text(run)!r}"
    )


def _split_text(run: Run) -> str:
  if run.cluster.pools is None:
    return run.cluster.split
  return "".join(f"{pool.count}{pool.role}" for pool in run.cluster.pools)


def _slo_problems(run: Run) -> Iterator[str]:
  for index, (_, _, _, limit) in enumerate(run.slo.terms):
    if limit <= 0:
      yield f"slo.terms[{index}]: limit must be above 0 seconds, got {limit}"
