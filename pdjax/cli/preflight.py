"""Everything that can be known to fail, asked before anything is written.

The config's own contradictions are found by `pdjax.checks`; here the world
outside is asked: trace files, weights, devices, chips, a user's policy, and
whether the requests fit the pools.
"""

import functools
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

from pdjax import config
from pdjax.config import ConfigError, Pool, Run, parse_split
from pdjax.sweep import devices
from pdjax.workload.workload import Workload


@functools.lru_cache(maxsize=8)
def workload_of(workload: config.Workload) -> Workload:
  """The built workload; cells often share one.

  Raises:
    ConfigError: mistakes of the config or of the trace.
  """
  from pdjax.workload.build import build

  return build(workload)


def unknown_names(run: Run) -> list[str]:
  """A line for each model or chip that there is not, whatever else is wrong."""
  from pdjax.models.presets import preset
  from pdjax.simulate.chips import chip, problems

  named = [pool.chip for pool in run.cluster.pools or ()]
  chips = dict.fromkeys(filter(None, [run.cluster.chip, *named]))
  lines = _refusals(lambda: preset(run.model.preset))
  lines += problems(run.cluster.chips)
  for name in chips:
    if name not in run.cluster.chips:
      lines += _refusals(lambda name=name: chip(name, run.cluster.chips))
  return lines


def inspect(run: Run) -> list[str]:
  """A line for each thing outside the config that is not as it must be."""
  from pdjax.metrics import slo
  from pdjax.schedule.setup import policy_of

  lines = slo.problems(run.slo)
  lines += _refusals(lambda: workload_of(run.workload))
  if not _workers_known(run):
    return lines
  if run.strategy.kind in config.BUILTIN_STRATEGIES or (
      ":" in run.strategy.kind
  ):
    lines += _refusals(lambda: policy_of(run))
  if run.backend.kind == "jax":
    lines += _measured(run)
  else:
    lines += _simulated(run)
  return lines


def inputs_of(run: Run) -> tuple[str, ...]:
  """Content hashes of the files that a run reads."""
  hashes = []
  trace = workload_of(run.workload).conditions.get("source_sha256")
  if trace:
    hashes.append(f"trace {trace}")
  if run.model.weights not in config.NAMED_WEIGHTS:
    with Path(run.model.weights).expanduser().open("rb") as file:
      digest = hashlib.file_digest(file, "sha256").hexdigest()
    hashes.append(f"weights {digest}")
  return tuple(hashes)


def _refusals(ask: Callable[[], object]) -> list[str]:
  try:
    ask()
  except ConfigError as error:
    return error.errors
  return []


def _workers_known(run: Run) -> bool:
  if run.cluster.pools is not None:
    return bool(run.cluster.pools)
  try:
    parse_split(run.cluster.split)
  except ValueError:
    return False
  return True


def _simulated(run: Run) -> list[str]:
  from pdjax.simulate.cluster import cluster_of

  if any(pool.chip is None for pool in config.pools_of(run)):
    return []  # told already
  try:
    cluster = cluster_of(run)
  except ConfigError as error:
    return error.errors
  return list(_too_long(run, cluster.pool_pages))


def _too_long(run: Run, pool_pages: tuple[int, ...]) -> Iterator[str]:
  """A line when no request at all could be served."""
  from pdjax.schedule.setup import world_of

  try:
    requests = workload_of(run.workload).requests
  except ConfigError:
    return
  world = world_of(run, pool_pages)
  holders = world.with_role("C", "D") or world.workers
  if any(world.could_hold(w, r) for w in holders for r in requests):
    return
  shortest = min(r.prompt_tokens + r.max_tokens for r in requests)
  room = max(w.spec.pool_pages for w in holders) * run.cluster.page_tokens
  yield (
      "cluster.kv_tokens: no request fits a worker's KV cache: the shortest"
      f" needs {shortest} tokens with its answer, the largest cache holds"
      f" {room}"
  )


# Real devices. -------------------------------------------------------------


def _measured(run: Run) -> list[str]:
  pools = config.pools_of(run)
  if any(pool.tp < 1 or pool.count < 1 for pool in pools):
    return []  # told already
  lines = _refusals(lambda: _check_engine(run)) + _weights(run.model)
  try:
    return lines + list(_too_few(run, pools, devices.devices_of(run)))
  except ConfigError as error:
    return lines + error.errors


def _check_engine(run: Run) -> None:
  from pdjax.engine import capacity
  from pdjax.models.presets import preset

  spec = preset(run.model.preset)
  try:
    workload = workload_of(run.workload)
  except ConfigError:
    return  # told already
  capacity.check(run, spec, workload)


def _weights(model: config.Model) -> list[str]:
  from pdjax.models import fetch

  if model.weights == "random":
    return []
  if model.weights == "fetched":
    return _refusals(lambda: fetch.fetched_path(model.preset))
  if Path(model.weights).expanduser().is_file():
    return []
  return [f"model.weights: no such file {model.weights!r}"]


def _too_few(
    run: Run, pools: tuple[Pool, ...], found: devices.Devices
) -> Iterator[str]:
  each = [pool.tp for pool in pools for _ in range(pool.count)]
  needed = max(each) if run.cluster.share_devices else sum(each)
  if needed <= found.count:
    return
  way_out = f"; cluster.host_devices={needed} splits the host's CPU"
  said = "cluster.pools" if run.cluster.pools else "cluster.split"
  yield (
      f"{said}: needs {needed} devices, there are {found.count}"
      f" ({found.kind}){way_out if found.platform == 'cpu' else ''}"
  )
