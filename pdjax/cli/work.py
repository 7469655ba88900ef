"""Runs those cells of an experiment that are not done, and keeps the runs."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pdjax import schema
from pdjax.cli import cell as cell_module
from pdjax.cli.flags import Flags
from pdjax.cli.plan import Part, made_by
from pdjax.cli.remaining import Remaining
from pdjax.cli.remake import NotExact, remake
from pdjax.metrics import provenance
from pdjax.sweep import choice, jsonfile, launch, launchers, remote, runfiles
from pdjax.sweep.cells import Cell
from pdjax.sweep.worker import message_of

Say = Callable[[str], None]


class Work:
  """Some cells of an experiment on their way to finished runs."""

  def __init__(
      self,
      part: Part,
      cells: Sequence[Cell],
      flags: Flags,
      say: Say,
      *,
      quiet: bool = False,
      spares: launch.Spares | None = None,
  ):
    """Nothing is done yet.

    Args:
      part: the experiment.
      cells: what it is to do.
      flags: how.
      say: prints a line.
      quiet: tells of failures alone.
      spares: processes to take and to leave.
    """
    self._spares = spares
    self._part, self._cells, self._flags = part, cells, flags
    self._say, self._width, self._quiet = say, width_of(part), quiet
    self.runs: dict[str, Path] = {}
    """Folders of finished cells by their ids."""
    self.failures: list[str] = []
    """A line for each cell that failed."""

  def run(self) -> None:
    """Runs what is due; of cells that differ in the SLO alone, the first."""
    due = [cell for cell in self._cells if self._is_due(cell)]
    self._remaining = Remaining(due)
    try:
      if self._flags.rerun:
        self._serve(due)
        return
      while (due := self._not_made_again(due)) and not self.stopped:
        works = {cell.work_id: cell for cell in reversed(due)}
        self._serve([cell for cell in due if works[cell.work_id] is cell])
        due = [cell for cell in due if works[cell.work_id] is not cell]
    finally:
      self._part.store.clear()

  @property
  def _order(self) -> str | None:
    return self._flags.order or self._part.experiment.sweep.order

  @property
  def stopped(self) -> bool:
    """Whether a failure has ended the work."""
    return self._flags.fail_fast and bool(self.failures)

  def _serve(self, cells: list[Cell]) -> None:
    cells = list(choice.in_order(cells, self._order, self._part.name))
    if cells and self._flags.launcher != launchers.LOCAL:
      self._serve_elsewhere(cells)
      return
    function = "profile_cell" if self._flags.profile else "run_cell"
    outcomes = launch.launch(
        cells, self._begin, f"pdjax.cli.cell:{function}", self._tell,
        self._spares,
    )
    with contextlib.closing(outcomes):
      for outcome in outcomes:
        self._keep(outcome)
        if self.stopped:
          return

  def _serve_elsewhere(self, cells: list[Cell]) -> None:
    """Has each cell run by `pdjax.cli.job` on a cluster."""
    store, flags = self._part.store, self._flags
    cluster = launchers.cluster_of(
        flags.launcher, flags.launcher_options, store.folder.absolute()
    )
    assert cluster is not None
    store.folder.mkdir(parents=True, exist_ok=True)
    tasks = remote.work(
        cells, cluster, "pdjax.cli.job:do", self._job, self._tell
    )
    with contextlib.closing(tasks):
      for ended in tasks:
        self._look(ended)
        if self.stopped:
          return

  def _job(self, cell: Cell) -> remote.Job:
    """What `pdjax.cli.job` has to know."""
    self._remaining.begin(cell)
    store = self._part.store
    store.forget_failure(cell)
    return {
        "config": schema.tree_of(cell.run),
        "case": cell.case,
        "swept": cell.swept,
        "repeat": cell.repeat,
        "inputs": list(cell.inputs),
        "name": self._part.name,
        "store": str(store.folder.absolute()),
        "directory": os.getcwd(),
        "path": [os.path.abspath(path) for path in sys.path if path],
        "command": os.environ.get(provenance.COMMAND, ""),
        "rerun": self._flags.rerun,
        "profile": self._flags.profile,
    }

  def _look(self, ended: remote.Ended) -> None:
    """Finds what the task of a cell has left in the store."""
    cell, store = ended.cell, self._part.store
    if ended.lost:
      lost = launch.Outcome(cell=cell, folder=None, message=ended.lost)
      self._fail(lost, ended.lost)
      return
    found = store.left_by_task(cell, made_by(cell))
    if isinstance(found, Path):
      self.runs[cell.id] = found
      seconds = runfiles.status_of(found).get("seconds", 0)
      left = self._remaining.end(cell)
      self._tell(cell, f"done in {seconds:.0f} s{left}")
      return
    message = "its task left no run" if found is None else (
        f"{found.message} {_see(found.folder)}"
    )
    self._tell(cell, f"FAILED: {message}{self._remaining.end(cell)}")
    self._add_failure(cell, message)

  def _is_due(self, cell: Cell) -> bool:
    if self._flags.rerun:
      return True
    found = self._part.store.find(cell, made_by(cell))
    if found.run:
      self.runs[cell.id] = found.run
      self._tell(cell, "done before")
      return False
    if self._flags.retry_failed or not self._failed_before(cell):
      if found.reason != "new":
        self._tell(cell, f"runs again, {found.reason}")
      return True
    return False

  def _failed_before(self, cell: Cell) -> bool:
    failure = self._part.store.failure(cell, made_by(cell))
    if failure is None:
      return False
    self._tell_all(
        cell, f"failed before: {failure.message}; --retry_failed runs it again"
    )
    self._add_failure(cell, f"{failure.message} {_see(failure.folder)}")
    return True

  def _not_made_again(self, cells: list[Cell]) -> list[Cell]:
    """Cells whose metrics cannot be made from the log of a finished run."""
    works = self._part.store.works() if cells else {}
    return [cell for cell in cells if not self._make_again(cell, works)]

  def _make_again(self, cell: Cell, works: dict[str, list[Path]]) -> bool:
    store = self._part.store
    source = store.same_work(cell, made_by(cell), works)
    if source is None:
      return False
    folder = store.begin(cell)
    try:
      remake(cell.run, source, folder)
    except NotExact as error:
      self._tell(cell, f"is served again: {error}")
      return False
    self._finish(cell, folder)
    left = self._remaining.end(cell)
    self._tell(cell, f"metrics made from the log of {source.name}{left}")
    return True

  def _begin(self, cell: Cell) -> Path | None:
    """A folder for a cell whose turn has come."""
    self._remaining.begin(cell)
    store = self._part.store
    rerun = self._flags.rerun
    run = None if rerun else store.find(cell, made_by(cell)).run
    if run is None:
      return store.begin(cell)
    self.runs[cell.id] = run
    self._tell(cell, f"done by another process{self._remaining.end(cell)}")
    return None

  def _keep(self, outcome: launch.Outcome) -> None:
    cell = outcome.cell
    try:
      message = outcome.message or self._accept(cell, outcome.folder)
    except OSError as error:
      message = message_of(error)
    if message:
      self._fail(outcome, message)
    else:
      left = self._remaining.end(cell)
      self._tell(cell, f"done in {outcome.seconds:.0f} s{left}")

  def _accept(self, cell: Cell, folder: Path | None) -> str:
    """Keeps a run; returns what is wrong with it."""
    assert folder is not None
    missing = [
        name
        for name in cell_module.files_of(cell.run)
        if not (folder / name).is_file()
    ]
    if missing:
      return f"its run left no {', '.join(missing)}"
    self._finish(cell, folder)
    return ""

  def _finish(self, cell: Cell, folder: Path) -> None:
    """Gives a whole run its place."""
    store = self._part.store
    _tell_repeat(folder, store.folder / "runs" / cell.folder_name)
    self.runs[cell.id] = store.finish(
        cell, folder, made_by(cell), replace=self._flags.rerun, finished=_now()
    )

  def _fail(self, outcome: launch.Outcome, message: str) -> None:
    cell = outcome.cell
    try:
      kept = self._part.store.fail(
          cell, message, outcome.folder, made_by(cell), lasting=outcome.lasting
      )
      message += f" {_see(kept)}"
    except OSError as error:
      message += f" (not recorded: {error})"
    self._tell_all(cell, f"FAILED: {message}{self._remaining.end(cell)}")
    self._add_failure(cell, message)

  def _add_failure(self, cell: Cell, message: str) -> None:
    self.failures.append(f"{self._part.name} {cell.label}: {message}")

  def _tell(self, cell: Cell, text: str) -> None:
    if not self._quiet:
      self._tell_all(cell, text)

  def _tell_all(self, cell: Cell, text: str) -> None:
    self._say(f"  {cell.label:<{self._width}}  {text}")


def width_of(part: Part) -> int:
  """Of the longest label."""
  return max((len(cell.label) for cell in part.cells.cells), default=0)


def _see(failed: Path) -> str:
  """Where more is to be found about a failure."""
  log = failed / runfiles.LOG
  told = log.is_file() and log.stat().st_size
  return f"(see {log if told else failed})"


def _tell_repeat(temporary: Path, final: Path) -> None:
  """Says in a run's provenance how it is repeated from its final folder."""
  path = temporary / "provenance.json"
  told = jsonfile.read_object(path)
  jsonfile.write(path, told | {"repeat": provenance.repeat_command(final)})


def _now() -> str:
  return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
