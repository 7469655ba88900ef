"""A JAX trace of a few steps of a measured run, in the run's folder.

Tracing slows steps down. So the workload is served once more when the run's
figures are taken, traced around its middle, and given up.
"""

from pathlib import Path

import jax

from pdjax.config import Run
from pdjax.engine import capacity
from pdjax.engine.backend import EngineBackend
from pdjax.events import Event, StepEnded
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import world_of
from pdjax.schedule.world import World
from pdjax.simulate.stepcosts import policy_for

FOLDER = "jax_trace"
"""In a run's folder; TensorBoard, XProf and Perfetto open what is in it."""

RUNS = 8
"""Runs of steps that end while it is traced."""


class _Enough(Exception):
  """All that was wanted is traced."""


class _Tracer:
  """Watches a run; traces from one ended run of steps to another."""

  def __init__(self, folder: Path, first: int):
    self._folder, self._first, self._ended = folder, first, 0
    self._tracing = False

  def __call__(self, event: Event, world: World) -> None:
    if not isinstance(event, StepEnded):
      return
    self._ended += 1
    if self._ended == self._first:
      self._start()
    elif self._ended == self._first + RUNS:
      raise _Enough

  def _start(self) -> None:
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0  # our own marks say more in less room
    jax.profiler.start_trace(str(self._folder), profiler_options=options)
    self._tracing = True

  def stop(self) -> None:
    if self._tracing:
      jax.profiler.stop_trace()


def profile(
    run: Run, backend: EngineBackend, folder: Path, step_runs: int
) -> None:
  """Writes the trace. The backend, ready for another run, is not after it.

  Args:
    run: its config.
    backend: reset to the run's workload.
    folder: of the run.
    step_runs: how many runs of steps the measured run had.
  """
  tracer = _Tracer(folder / FOLDER, max(1, (step_runs - RUNS) // 2))
  world = world_of(
      run, capacity.pool_pages_of(run), capacity.staging_pages_of(run)
  )
  try:
    serve(policy_for(run), backend, world, tracer)
  except _Enough:
    pass
  finally:
    tracer.stop()
