"""Runs cells in processes; one that fails costs its own cell and no other.

A measured cell needs a fresh process because JAX reads its devices once. Such
cells run one after another, also those of other commands, as they share the
devices. Simulated cells share the host's cores, and their processes do one cell
after another. A single one is run right here, unless its policy is a user's:
that may do anything.
"""

import collections
import contextlib
import dataclasses
import os
import queue
import shutil
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

from pdjax.sweep import devices, runfiles
from pdjax.sweep.cells import Cell
from pdjax.sweep.process import Answers, Process
from pdjax.sweep.worker import function_of, is_lasting, message_of

Say = Callable[[Cell, str], None]
Begin = Callable[[Cell], Path | None]
_WAITS = "waits: another command measures on these devices"
_TRIES = 2
"""Of a cell whose process is killed, by whatever: memory may be short only
while others run too."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
  """How a cell ended; `message` is empty when all went well."""

  cell: Cell
  folder: Path | None
  """Where its files are; None if there was no place for them."""
  seconds: float = 0.0
  message: str = ""
  lasting: bool = False
  """Would fail in the same way again."""


@dataclasses.dataclass(frozen=True, eq=False)
class Spares:
  """Processes for simulated cells that outlast a launch, for the next one.

  A search launches a few cells many times, and a process takes longer to start
  than such a cell to run.
  """

  processes: list[Process] = dataclasses.field(default_factory=list)
  answers: Answers = dataclasses.field(default_factory=queue.SimpleQueue)

  def close(self) -> None:
    """Ends them."""
    for process in self.processes:
      process.kill()


def launch(
    cells: Sequence[Cell],
    begin: Begin,
    function: str,
    say: Say,
    spares: Spares | None = None,
) -> Generator[Outcome, None, None]:
  """Runs cells in their order, simulated ones first; outcomes come as they end.

  Args:
    cells: what is to be run.
    begin: makes a cell's folder when its turn comes; None if it need not run.
    function: `module:function`, called with a run, a folder and `progress`;
      it writes the run's files into the folder.
    say: is told the progress of a cell, a line at a time.
    spares: processes to take and to leave; without, none is left.
  """
  simulated = [cell for cell in cells if not _is_measured(cell)]
  measured = [cell for cell in cells if _is_measured(cell)]
  if len(simulated) == 1 and ":" not in simulated[0].run.strategy.kind:
    yield from _here(simulated[0], begin, function, say)
  else:
    cores = len(os.sched_getaffinity(0))
    yield from _Crew(begin, function, say, cores, spares).work(simulated)
  if measured:
    with devices.alone(lambda: say(measured[0], _WAITS)):
      yield from _Crew(begin, function, say, 1).work(measured)


def _is_measured(cell: Cell) -> bool:
  return cell.run.backend.kind == "jax"


def _here(
    cell: Cell, begin: Begin, function: str, say: Say
) -> Iterator[Outcome]:
  started, folder = time.monotonic(), None
  try:
    if (folder := begin(cell)) is None:
      return
    function_of(function)(cell.run, folder, lambda text: say(cell, text))
    ended = Outcome(cell=cell, folder=folder)
  except KeyboardInterrupt:
    raise
  except BaseException as error:  # a cell's failure is not the program's
    if folder:
      (folder / runfiles.LOG).write_text(traceback.format_exc())
    ended = _failed(cell, folder, error)
  yield dataclasses.replace(ended, seconds=time.monotonic() - started)


def _failed(cell: Cell, folder: Path | None, error: BaseException) -> Outcome:
  return Outcome(
      cell=cell, folder=folder, message=message_of(error),
      lasting=is_lasting(error),
  )


@dataclasses.dataclass(kw_only=True)
class _Task:
  """A cell under way."""

  cell: Cell
  folder: Path
  started: float
  tries: int = 0

  def ended(self, message: str = "", *, lasting: bool = False) -> Outcome:
    return Outcome(
        cell=self.cell, folder=self.folder, message=message, lasting=lasting,
        seconds=time.monotonic() - self.started,
    )


class _Crew:
  """Processes that share out cells; a measured cell's does no other."""

  def __init__(
      self, begin: Begin, function: str, say: Say, size: int,
      spares: Spares | None = None,
  ):
    self._begin, self._say, self._size = begin, say, size
    self._function, self._keeps = function, spares is not None
    spares = spares or Spares()
    self._answers, self._idle = spares.answers, spares.processes
    self._waiting: collections.deque[Cell] = collections.deque()
    self._again: collections.deque[_Task] = collections.deque()
    self._busy: dict[Process, _Task] = {}

  def work(self, cells: Sequence[Cell]) -> Iterator[Outcome]:
    self._waiting.extend(cells)
    try:
      while self._waiting or self._again or self._busy:
        outcome = self._go_on()
        if outcome is not None:
          yield outcome
    finally:
      for process in (*self._busy, *(() if self._keeps else self._idle)):
        process.kill()

  def _go_on(self) -> Outcome | None:
    """Starts a cell if one can be, else waits for an answer."""
    if len(self._busy) < self._size:
      if self._again:
        return self._start(self._again.popleft())
      if self._waiting:
        return self._start_new(self._waiting.popleft())
    return self._hear(*self._answers.get())

  def _start_new(self, cell: Cell) -> Outcome | None:
    try:
      folder = self._begin(cell)
    except OSError as error:
      return _failed(cell, None, error)
    if folder is None:
      return None
    task = _Task(cell=cell, folder=folder, started=time.monotonic())
    return self._start(task)

  def _start(self, task: _Task) -> Outcome | None:
    task.tries += 1
    try:
      process = self._idle.pop() if self._idle else self._process(task)
    except OSError as error:
      return _failed(task.cell, task.folder, error)
    self._busy[process] = task
    process.ask(task.cell.run, task.folder)
    return None

  def _process(self, task: _Task) -> Process:
    run = task.cell.run
    env = devices.environment(run) if _is_measured(task.cell) else None
    return Process(self._function, env, task.folder, self._answers)

  def _hear(
      self, process: Process, answer: dict[str, Any] | None
  ) -> Outcome | None:
    if answer is None:
      return self._lost(process)
    if process not in self._busy:  # killed in an earlier launch
      return None
    if "said" in answer:
      self._say(self._busy[process].cell, answer["said"])
      return None
    task = self._busy.pop(process)
    if _is_measured(task.cell):
      process.end()
    else:
      self._idle.append(process)
    return task.ended(answer["ended"], lasting=answer.get("lasting", False))

  def _lost(self, process: Process) -> Outcome | None:
    """A process is gone, maybe in the middle of a cell."""
    task = self._busy.pop(process, None)
    if process in self._idle:
      self._idle.remove(process)
    if task is None:
      return None
    if not (killed_by := process.killed_by()):
      status = process.status()
      return task.ended(f"its process ended with status {status} in the run")
    killed = f"its process was killed by {killed_by}"
    if task.tries == _TRIES:
      return task.ended(f"{killed}, {_TRIES} times (out of memory?)")
    self._say(task.cell, f"{killed}; once more")
    shutil.rmtree(task.folder, ignore_errors=True)
    with contextlib.suppress(OSError):  # then the run itself says so
      task.folder.mkdir()
    self._again.append(task)
    return None
