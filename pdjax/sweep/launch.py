"""Runs cells: measured ones each in a process of its own, simulated ones here.

A measured cell needs a fresh process because JAX reads its devices once. Such
cells run one after another, as they share the devices. Simulated cells share
the host's cores when there are several of both. A cell that fails is told in
its outcome, and the others go on.
"""

import concurrent.futures
import dataclasses
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from pdjax import schema
from pdjax.config import ConfigError, Run
from pdjax.sweep import devices, jsonfile
from pdjax.sweep.cells import Cell

Say = Callable[[str], None]
_POLL_S = 0.2


class RunCell(Protocol):
  """Does one run and writes its files into a folder."""

  def __call__(self, run: Run, folder: Path, progress: Say) -> None: ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
  """A cell and the temporary folder its run is written to."""

  cell: Cell
  folder: Path


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
  """How a job ended; `message` is empty when all went well."""

  job: Job
  seconds: float
  message: str = ""
  log: str = ""


def launch(
    jobs: Sequence[Job],
    run_cell: RunCell,
    command: Sequence[str],
    say: Callable[[Cell, str], None],
) -> Iterator[Outcome]:
  """Runs all jobs; outcomes come as they end.

  Args:
    jobs: simulated ones run first.
    run_cell: importable by name, so that other processes can call it.
    command: does the same as a program, given a config file and a folder.
    say: is told the progress of a cell, a line at a time.
  """
  simulated = [job for job in jobs if _is_simulated(job)]
  measured = [job for job in jobs if not _is_simulated(job)]
  workers = min(len(os.sched_getaffinity(0)), len(simulated))
  if workers > 1:
    yield from _pooled(simulated, run_cell, workers, say)
  else:
    for job in simulated:
      yield _here(job, run_cell, lambda text, job=job: say(job.cell, text))
  for job in measured:
    yield _apart(job, command, lambda text, job=job: say(job.cell, text))


def _is_simulated(job: Job) -> bool:
  return job.cell.run.backend.kind == "simulated"


def _here(job: Job, run_cell: RunCell, say: Say) -> Outcome:
  started = time.monotonic()
  message = log = ""
  try:
    run_cell(job.cell.run, job.folder, say)
  except Exception as error:  # one cell's failure must not end the others
    message, log = message_of(error), traceback.format_exc()
  return Outcome(
      job=job, seconds=time.monotonic() - started, message=message, log=log
  )


def _pooled(
    jobs: Sequence[Job],
    run_cell: RunCell,
    workers: int,
    say: Callable[[Cell, str], None],
) -> Iterator[Outcome]:
  context = multiprocessing.get_context("spawn")
  told = context.SimpleQueue()
  pool = concurrent.futures.ProcessPoolExecutor(
      workers, context, initializer=_connect, initargs=(told,)
  )
  with pool:
    waiting = {
        pool.submit(_pool_job, job, run_cell, number): job
        for number, job in enumerate(jobs)
    }
    while waiting:
      ended, _ = concurrent.futures.wait(
          waiting, _POLL_S, concurrent.futures.FIRST_COMPLETED
      )
      while not told.empty():
        number, text = told.get()
        say(jobs[number].cell, text)
      for future in ended:
        yield _outcome(future, waiting.pop(future))


def _outcome(future: concurrent.futures.Future, job: Job) -> Outcome:
  try:
    return future.result()
  except concurrent.futures.process.BrokenProcessPool:
    died = "its process was killed (out of memory?)"
    return Outcome(job=job, seconds=0.0, message=died)


_told: Any = None
"""In a worker process: where progress goes."""


def _connect(told: Any) -> None:
  global _told
  _told = told


def _pool_job(job: Job, run_cell: RunCell, number: int) -> Outcome:
  return _here(job, run_cell, lambda text: _told.put((number, text)))


def _apart(job: Job, command: Sequence[str], say: Say) -> Outcome:
  """A cell in a process of its own; its output is its progress."""
  started = time.monotonic()
  run = job.cell.run
  with tempfile.TemporaryDirectory(prefix="pdjax-") as scratch:
    config = Path(scratch) / "config.json"
    jsonfile.write(config, schema.tree_of(run))
    with open(Path(scratch) / "stderr", "w+") as errors:
      process = subprocess.Popen(
          [*command, str(config), str(job.folder)],
          stdout=subprocess.PIPE,
          stderr=errors,
          text=True,
          env=devices.environment(run),
      )
      try:
        assert process.stdout is not None
        for line in process.stdout:
          say(line.rstrip())
        code = process.wait()
      finally:
        process.kill()
      errors.seek(0)
      log = errors.read()
  message = "" if code == 0 else _why(code, log)
  return Outcome(
      job=job, seconds=time.monotonic() - started, message=message, log=log
  )


def _why(code: int, log: str) -> str:
  if code < 0:
    return f"its process was killed by {signal.Signals(-code).name}"
  lines = [line for line in log.splitlines() if line.strip()]
  return lines[-1].strip() if lines else f"its process ended with status {code}"


def message_of(error: Exception) -> str:
  """An exception in one line."""
  if isinstance(error, ConfigError):
    return "; ".join(error.errors)
  return f"{type(error).__name__}: {error}".replace("\n", " ")


def command_of(module: str) -> list[str]:
  """A module of this Python as a program."""
  return [sys.executable, "-m", module]
