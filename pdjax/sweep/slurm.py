"""Cells as jobs of Slurm, through submitit: `--launcher=slurm`.

All cells are handed over at once, as one job array. `--launcher=slurm_local` is
submitit's own local executor, which runs the same jobs as processes of this
machine, as many as it has cores: a sweep is tried with it before it goes to a
cluster. Pickled jobs and logs lie in `.slurm/` of the results while a job is
not over, and stay where one was lost.
"""

import os
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from pdjax.config import ConfigError
from pdjax.sweep.remote import Job, Task
from pdjax.sweep.worker import function_of

FOLDER, _JOB = ".slurm", "%j"
"""The second is a job's own folder, in submitit's words."""
_GENERAL = (
    "name", "nodes", "timeout_min", "mem_gb", "cpus_per_task", "gpus_per_node",
    "tasks_per_node",
)
"""What submitit has for any executor; Slurm's own begin with its name."""


def _call(function: str, job: Job) -> None:
  function_of(function)(job)


class Slurm:
  """Slurm, or processes that stand for it."""

  def __init__(self, kind: str, options: dict[str, Any], place: Path):
    """Nothing is submitted yet.

    Args:
      kind: submitit's name of the executor: `slurm` or `local`.
      options: `partition`, `timeout_min` and others, as submitit has them.
      place: the experiment's folder.

    Raises:
      ConfigError: there is no Slurm here, or no such option.
    """
    import submitit  # pyright: ignore[reportMissingImports]

    self.width = None if kind == "slurm" else len(os.sched_getaffinity(0))
    self._folder = place / FOLDER
    try:
      executor = submitit.AutoExecutor(self._folder / _JOB, cluster=kind)
      executor.update_parameters(**{"name": "pdjax", **_named(options)})
    except (RuntimeError, NameError, TypeError, ValueError, OSError) as error:
      text = " ".join(str(error).split())
      raise ConfigError([f"--launcher=slurm: {text}"]) from error
    self._executor = executor

  def submit(self, function: str, jobs: Sequence[Job]) -> Sequence[Task]:
    functions = [function] * len(jobs)
    return self._executor.map_array(_call, functions, list(jobs))

  def ended(self, tasks: Collection[Task]) -> dict[Task, str]:
    return {task: self._lost(task) for task in tasks if _any(task).done()}

  def _lost(self, task: Any) -> str:
    try:
      error = task.exception()
    except Exception as unread:  # its result cannot be read
      error = unread
    if error is None:
      shutil.rmtree(task.paths.folder, ignore_errors=True)
      self._tidy()
      return ""
    kind = type(error).__name__
    return f"its job {task.job_id} was lost ({kind}; see {task.paths.stderr})"

  def _tidy(self) -> None:
    """Removes the folder of jobs once only scripts are in it."""
    try:
      left = [path.name for path in self._folder.iterdir() if path.is_dir()]
      if not set(left) - {_JOB}:
        shutil.rmtree(self._folder)
    except OSError:
      pass  # another command's, or gone

  def cancel(self, tasks: Collection[Task]) -> None:
    for task in tasks:
      _any(task).cancel(check=False)


def _any(task: Task) -> Any:
  return task


def _named(options: dict[str, Any]) -> dict[str, Any]:
  """Options under submitit's names: `partition` is `slurm_partition`."""
  return {
      name if name in _GENERAL or name.startswith("slurm_") else f"slurm_{name}"
      : value
      for name, value in options.items()
  }
