"""Whether a run can be measured here: devices, memory, weights, programs."""

import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pdjax import config, inputfile
from pdjax.checks import Check
from pdjax.cli import hostmemory
from pdjax.cli.requests import built
from pdjax.config import ConfigError, Run
from pdjax.engine import capacity
from pdjax.fieldtypes import shown
from pdjax.models import fetch
from pdjax.models.presets import preset
from pdjax.models.spec import ModelSpec
from pdjax.sweep import devices


def _of_model(ask: Callable[[Run, ModelSpec], Iterable[str]]) -> Check:
  return _measured(lambda run: ask(run, preset(run.model.preset)))


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
  """Whether there are such weights."""
  model = run.model
  if model.weights == "random":
    return
  if model.weights == "fetched":
    try:
      fetch.fetched_path(model.preset)
    except ConfigError as error:
      yield from error.errors
  elif reason := inputfile.refusal(model.weights):
    yield f"model.weights: {shown(model.weights)} {reason}"


def _weights_fit(run: Run, spec: ModelSpec) -> Iterator[str]:
  """Whether the file is what it should be: format, sizes, tokenizer."""
  weights = run.model.weights
  if weights == "random" or list(_weights(run)):
    return
  path = inputfile.path_of(weights)
  if weights == "fetched":
    path = fetch.fetched_path(run.model.preset)
  lines, has_end = _file_facts(path, spec, inputfile.version(str(path)))
  yield from lines
  ends = has_end or run.sampling.stop_ids
  if not lines and not ends and run.workload.stop == "eos":
    yield (
        f"workload.stop: 'eos', but model.weights={shown(weights)} come with"
        " no end token; use 'forced_length', or name sampling.stop_ids"
    )


@functools.lru_cache(maxsize=8)
def _file_facts(
    path: Path, spec: ModelSpec, version: tuple
) -> tuple[tuple[str, ...], bool]:
  """The mistakes of a GGUF file, and whether it names an end token."""
  from pdjax.models import gguf_file
  from pdjax.models.tokenizer import load_tokenizer

  try:
    gguf_file.opened(path).check(spec)
    return (), bool(load_tokenizer(path).eos_ids)
  except ConfigError as error:
    return tuple(error.errors), False


def _room(run: Run) -> Iterator[str]:
  if workload := built(run):
    yield from capacity.none_fits(
        run, workload, capacity.pool_pages_of(run)
    )


def _programs(run: Run, spec: ModelSpec) -> Iterator[str]:
  workload = built(run)
  if workload and not list(_room(run)):
    yield from capacity.too_few_programs(run, spec, workload)


def _memory(run: Run, spec: ModelSpec) -> Iterator[str]:
  workload = built(run)
  if workload is None or list(_room(run)) or not _on_host(run):
    return
  needed_bytes = capacity.memory_bytes(run, spec, workload)
  host_bytes = hostmemory.total_bytes()
  if needed_bytes > host_bytes:
    yield (
        f"model.preset: {spec.name} needs {needed_bytes / 1e9:.1f} GB on these"
        " workers (weights, KV cache, the largest step) and the host has"
        f" {host_bytes / 1e9:.1f} GB"
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
    _measured(_devices),
    _measured(_room),
    _of_model(_programs),
    _of_model(_memory),
    _of_model(_weights_fit),
)
