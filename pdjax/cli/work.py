"""Runs those cells of an experiment that are not done, and keeps the runs."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

from pdjax.cli import cell as cell_module
from pdjax.cli.plan import Part, made_by
from pdjax.cli.remake import NotExact, remake
from pdjax.metrics import provenance
from pdjax.sweep import jsonfile, launch, runfiles
from pdjax.sweep.cells import Cell
from pdjax.sweep.worker import message_of

Say = Callable[[str], None]


class Work:
  """The cells of one experiment on their way to finished runs."""

  def __init__(self, part: Part, say: Say):
    self._part, self._say = part, say
    self._width = width_of(part)
    self.runs: dict[str, Path] = {}
    """Folders of finished cells by their ids."""
    self.failures: list[str] = []
    """A line for each cell that failed."""

  def run(self) -> None:
    """Runs what is due; of cells that differ in the SLO alone, the first."""
    due = [cell for cell in self._part.cells.cells if self._is_due(cell)]
    try:
      while due := self._not_made_again(due):
        works = {cell.work_id: cell for cell in reversed(due)}
        self._serve([cell for cell in due if works[cell.work_id] is cell])
        due = [cell for cell in due if works[cell.work_id] is not cell]
    finally:
      self._part.store.clear()

  def _serve(self, cells: list[Cell]) -> None:
    outcomes = launch.launch(
        cells, self._begin, "pdjax.cli.cell:run_cell", self._tell
    )
    with contextlib.closing(outcomes):
      for outcome in outcomes:
        self._keep(outcome)

  def _not_made_again(self, cells: list[Cell]) -> list[Cell]:
    """Cells whose metrics cannot be made from the log of a finished run."""
    works = self._part.store.works() if cells else {}
    return [cell for cell in cells if not self._make_again(cell, works)]

  def _make_again(self, cell: Cell, works: dict[str, list[Path]]) -> bool:
    store, made = self._part.store, made_by(cell)
    source = store.same_work(cell, made, works)
    if source is None:
      return False
    folder = store.begin(cell)
    try:
      remake(cell.run, source, folder)
    except NotExact as error:
      self._tell(cell, f"is served again: {error}")
      return False
    _place(folder, store.folder / "runs" / cell.folder_name)
    self.runs[cell.id] = store.finish(cell, folder, made, finished=_now())
    self._tell(cell, f"metrics made from the log of {source.name}")
    return True

  def _is_due(self, cell: Cell) -> bool:
    found = self._part.store.find(cell, made_by(cell))
    if found.run:
      self.runs[cell.id] = found.run
      self._tell(cell, "done before")
    elif found.reason != "new":
      self._tell(cell, f"runs again, {found.reason}")
    return found.run is None

  def _begin(self, cell: Cell) -> Path | None:
    """A folder for a cell whose turn has come."""
    found = self._part.store.find(cell, made_by(cell))
    if found.run is None:
      return self._part.store.begin(cell)
    self.runs[cell.id] = found.run
    self._tell(cell, "done by another process")
    return None

  def _keep(self, outcome: launch.Outcome) -> None:
    cell = outcome.cell
    try:
      message = outcome.message or self._finish(cell, outcome.folder)
    except OSError as error:
      message = message_of(error)
    if message:
      self._fail(outcome, message)
    else:
      self._tell(cell, f"done in {outcome.seconds:.0f} s")

  def _finish(self, cell: Cell, folder: Path | None) -> str:
    """Keeps a run; returns what is wrong with it."""
    assert folder is not None
    missing = [
        name
        for name in cell_module.files_of(cell.run)
        if not (folder / name).is_file()
    ]
    if missing:
      return f"its run left no {', '.join(missing)}"
    store = self._part.store
    _place(folder, store.folder / "runs" / cell.folder_name)
    self.runs[cell.id] = store.finish(
        cell, folder, made_by(cell), finished=_now()
    )
    return ""

  def _fail(self, outcome: launch.Outcome, message: str) -> None:
    cell = outcome.cell
    try:
      kept = self._part.store.fail(
          cell, message, outcome.folder, made_by(cell), lasting=outcome.lasting
      )
      log = kept / runfiles.LOG
      told = log.is_file() and log.stat().st_size
      message += f" (see {log if told else kept})"
    except OSError as error:
      message += f" (not recorded: {error})"
    self._tell(cell, f"FAILED: {message}")
    self.failures.append(f"{self._part.name} {cell.label}: {message}")

  def _tell(self, cell: Cell, text: str) -> None:
    self._say(f"  {cell.label:<{self._width}}  {text}")


def width_of(part: Part) -> int:
  """Of the longest label."""
  return max((len(cell.label) for cell in part.cells.cells), default=0)


def _place(temporary: Path, final: Path) -> None:
  """Says in a run's provenance how it is repeated from its final folder."""
  path = temporary / "provenance.json"
  told = jsonfile.read_object(path)
  jsonfile.write(path, told | {"repeat": provenance.repeat_command(final)})


def _now() -> str:
  return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
