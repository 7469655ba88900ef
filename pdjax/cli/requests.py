"""The requests of a run, and what is wrong with them and their trace.

Traces and workloads are remembered: the cells of a sweep often share one.
"""

import dataclasses
import functools
from collections.abc import Iterable, Iterator
from typing import Any

from pdjax import config, inputfile
from pdjax.checks import Check
from pdjax.config import ConfigError, Run
from pdjax.unknown import Withheld, look, told
from pdjax.workload import mistakes, traces
from pdjax.workload.build import FITS, ask_of, build
from pdjax.workload.kept import Ask
from pdjax.workload.traces import Trace
from pdjax.workload.workload import Workload

_TIMELESS: dict[str, Any] = {
    "arrival": "all_at_once",
    "rate": None,
    "arrival_cv": 1.0,
    "time_scale": 1.0,
    "concurrency": None,
    "think_time_s": 0.0,
    "stay_probability": 0.5,
    "stop": "forced_length",
}
"""Fields of a workload that its lengths do not depend on."""


def workload_of(workload: config.Workload) -> Workload:
  """The built workload.

  Raises:
    ConfigError: mistakes of the config or of the trace.
  """
  return _workload_of(workload, _version(workload.path))


def _version(path: str | None) -> tuple:
  look(path)
  return inputfile.version(path) if path else ()


@functools.lru_cache(maxsize=32)
def _workload_of(workload: config.Workload, version: tuple) -> Workload:
  return build(workload)


@functools.lru_cache(maxsize=8)
def _trace_of(
    kind: str, path: str | None, ask: Ask, version: tuple
) -> tuple[Trace | None, tuple[str, ...]]:
  """The trace and the lines of its mistakes; one of the two is empty."""
  try:
    return traces.read(kind, path, ask), ()
  except ConfigError as error:
    return None, tuple(error.errors)


def built(run: Run) -> Workload | None:
  """The requests of a run, as far as their lengths go, if they can be built.

  Lengths do not depend on arrivals, which may be unknown, unless a window
  counts the requests.
  """
  look(run.workload, run.workload.protocol)
  timeless = _TIMELESS if run.workload.protocol == "count" else {}
  try:
    try:
      return workload_of(run.workload)
    except Withheld:
      return workload_of(dataclasses.replace(run.workload, **timeless))
  except ConfigError:
    return None


def _read(run: Run) -> tuple[Trace | None, tuple[str, ...]]:
  kind, path = run.workload.kind, run.workload.path
  if kind == "synthetic":
    return None, ()
  return _trace_of(kind, path, ask_of(run.workload), _version(path))


def _trace(run: Run) -> Iterable[str]:
  return _read(run)[1]


def _trace_fits(run: Run) -> Iterator[str]:
  trace, _ = _read(run)
  if trace is None:
    return
  for fit in FITS:
    yield from told(functools.partial(fit, trace=trace), run.workload)


def _buildable(run: Run) -> Iterable[str]:
  if list(_trace(run)):
    return  # told already
  try:
    workload_of(run.workload)
  except ConfigError as error:
    yield from error.errors


def _of_run(check: mistakes.Check) -> Check:
  return lambda run: check(run.workload)


CHECKS: tuple[Check, ...] = (
    *map(_of_run, mistakes.CHECKS),
    _trace,
    _trace_fits,
    _buildable,
)
