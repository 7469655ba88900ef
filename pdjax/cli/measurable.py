"""Whether a run can be measured here: devices, memory, weights, programs."""

import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pdjax import config, inputfile
from pdjax.checks import Check, refusals
from pdjax.cli import hostmemory
from pdjax.cli.requests import built
from pdjax.config import ConfigError, Run
from pdjax.digits import plain
from pdjax.engine import capacity
from pdjax.models import checkpoint
from pdjax.models.sizes import spec_of
from pdjax.models.spec import ModelSpec
from pdjax.passlimits import too_few_programs
from pdjax.sweep import devices


def _of_model(ask: Callable[[Run, ModelSpec], Iterable[str]]) -> Check:
  return _measured(lambda run: ask(run, spec_of(run.model)))


def _measured(ask: Check) -> Check:
  """A check of measured runs only."""
  return lambda run: ask(run) if run.backend.kind == "jax" else ()


def _devices(run: Run) -> Iterator[str]:
  try:
    found = devices.devices_of(run)
  except ConfigError as error:
    yield from error.errors
    return
  pools = config.pools_of(run)
  each = [pool.tp for pool in pools for _ in range(pool.count)]
  needed = max(each) if run.cluster.share_devices else sum(each)
  if needed > found.count:
    way_out = f"; cluster.host_devices={needed} splits the host's CPU"
    said = "cluster.pools" if run.cluster.pools else "cluster.split"
    yield (
        f"{said}: needs {needed} devices, there are {found.count}"
        f" ({found.kind}){way_out if found.platform == 'cpu' else ''}"
    )


def _weights(run: Run) -> Iterator[str]:
  """Whether there are such weights, whole and of a kind that is known."""
  path, lines = _weights_path(run.model)
  yield from lines
  if path is not None:
    yield from refusals(lambda: checkpoint.opened(path))


def _weights_path(model: config.Model) -> tuple[Path | None, list[str]]:
  """Where the weights are, unless random, and why they are nowhere."""
  try:
    return checkpoint.path_of(model), []
  except ConfigError as error:
    return None, error.errors


def _weights_fit(run: Run, spec: ModelSpec) -> Iterator[str]:
  """Whether the file is of this model, with a tokenizer that is known."""
  path, _ = _weights_path(run.model)
  if path is None or list(_weights(run)):
    return
  version = inputfile.version(str(path))
  yield from refusals(lambda: _checked(path, spec, version))
  try:
    ends = _end_ids(path, version)
  except ConfigError as error:
    yield from error.errors
    return
  yield from refusals(lambda: capacity.end_ids_of(run, ends))


@functools.lru_cache(maxsize=8)
def _checked(path: Path, spec: ModelSpec, version: tuple) -> None:
  checkpoint.opened(path).check(spec)


@functools.lru_cache(maxsize=8)
def _end_ids(path: Path, version: tuple) -> tuple[int, ...]:
  from pdjax.models.tokenizer import end_ids_of

  return end_ids_of(path)


def _room(run: Run) -> Iterator[str]:
  if workload := built(run):
    yield from capacity.none_fits(
        run, workload, capacity.pool_pages_of(run)
    )


def _programs(run: Run, spec: ModelSpec) -> Iterator[str]:
  workload = built(run)
  if workload and not list(_room(run)):
    limits = capacity.limits_of(run, spec, workload)
    if mistake := too_few_programs(run.engine.max_programs, limits):
      yield mistake


def _memory(run: Run, spec: ModelSpec) -> Iterator[str]:
  workload = built(run)
  if workload is None or list(_room(run)) or not _on_host(run):
    return
  needed_bytes = capacity.memory_bytes(run, spec, workload)
  host_bytes = hostmemory.total_bytes()
  if needed_bytes > host_bytes:
    yield (
        f"model.preset: {spec.name} needs {plain(needed_bytes / 1e9)} GB on"
        " these workers (weights, KV cache, the largest step) and the host has"
        f" {plain(host_bytes / 1e9)} GB"
    )


def _on_host(run: Run) -> bool:
  try:
    return devices.devices_of(run).platform == "cpu"
  except ConfigError:
    return False


CHECKS: tuple[Check, ...] = (
    _measured(_weights),
    _of_model(lambda run, spec: capacity.unrunnable(spec)),
    _measured(capacity.pipelines),
    _measured(capacity.shared_devices),
    _of_model(capacity.unfit_heads),
    _of_model(capacity.unknown_stop_ids),
    _of_model(capacity.too_little_staging),
    _measured(_devices),
    _measured(_room),
    _of_model(_programs),
    _of_model(_memory),
    _of_model(_weights_fit),
)
