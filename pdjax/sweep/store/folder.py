"""One experiment's folder: who may take a place in it, and when."""

import contextlib
import os
import shutil
import time
from pathlib import Path
from typing import Any

from pdjax import schema
from pdjax.sweep import jsonfile, runfiles, temporary
from pdjax.sweep.cells import Cell
from pdjax.sweep.store import lock, table
from pdjax.sweep.store.found import Failure, Found, changed, unusable
from pdjax.sweep.store.runs import runs_of

_SHARED_PAUSES_S = (0, 1, 3, 10, 30)
"""Before each look for what another machine wrote; a network file system may
keep what it knew of a folder for a minute."""
_OWN = (
    "experiment.json", "summary.json", "summary.csv", "search.json",
    "report.html", lock.LOCK, lock.REPORT_LOCK,
)


class Store:
  """Results of one experiment. Making one writes nothing."""

  def __init__(self, folder: Path):
    self.folder = folder
    self._runs = folder / "runs"
    self._failed = folder / "failed"
    self._figures = folder / "figures"

  def obstacles(self) -> list[str]:
    """A line for each thing that stands where results must go."""
    above = next(filter(os.path.lexists, self.folder.parents))
    folders = (above, self.folder, self._runs, self._failed, self._figures)
    files = [self.folder / name for name in _OWN]
    lines = [
        f"{path}: results go there, but it is no folder that can be written to"
        for path in folders
        if os.path.lexists(path) and not _is_writable(path)
    ] + [
        f"{path}: results go there, but it is no file"
        for path in files
        if os.path.lexists(path) and not os.path.isfile(path)
    ]
    if not lines and (reason := temporary.refusal(self.folder)):
      lines = [f"{self.folder}: results go there, but {reason}"]
    return lines

  # One cell. -----------------------------------------------------------------

  def find(self, cell: Cell, made_by: dict[str, str]) -> Found:
    """The finished run of a cell, or why there is none to use.

    Other code or devices make a run stale, files that are not as they were
    written make it damaged.
    """
    reason = "new"
    for path in self._places(cell):
      if not (reason := unusable(path, made_by, cell)):
        return Found(path, "done")
    return Found(None, reason)

  def any_run(self, cell: Cell) -> Path | None:
    """A run of the cell, whatever made it."""
    return next(iter(self._places(cell)), None)

  def works(self) -> dict[str, list[Path]]:
    """Finished runs by `Cell.work_id`."""
    works: dict[str, list[Path]] = {}
    for path in runs_of(self.folder):
      work = runfiles.status_of(path).get("work", "")
      works.setdefault(work, []).append(path)
    return works

  def same_work(
      self, cell: Cell, made_by: dict[str, str], works: dict[str, list[Path]]
  ) -> Path | None:
    """A finished run that differs from the cell's in its SLO alone."""
    for path in works.get(cell.work_id, ()):
      if not unusable(path, made_by):
        return path
    return None

  def begin(self, cell: Cell) -> Path:
    """A temporary folder for a run; `finish`, `fail` or `clear` end it."""
    self._runs.mkdir(parents=True, exist_ok=True)
    temporary.sweep_up(self._runs)
    return temporary.make(self._runs, cell.id[:12])

  def clear(self) -> None:
    """Removes what this process, or a killed one, has not finished."""
    temporary.remove_mine(self._runs)
    temporary.sweep_up(self._runs)

  def finish(
      self,
      cell: Cell,
      folder: Path,
      made_by: dict[str, str],
      *,
      replace: bool = False,
      **status: Any,
  ) -> Path:
    """Makes a written run the cell's; returns where it is.

    A run that another process finished meanwhile is as good and stays: others
    may be reading it. With `replace` it gives way.
    """
    (folder / runfiles.LOG).unlink(missing_ok=True)
    jsonfile.write(
        folder / runfiles.STATUS,
        runfiles.status_of(folder) | _identity(cell) | status
        | {"state": "done", "made_by": made_by}
        | {"files": runfiles.listed(folder)},
    )
    with self.locked():
      there = None if replace else self.find(cell, made_by).run
      if there is None:
        there = self._take_place(cell, folder)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(self._failed / cell.folder_name, ignore_errors=True)
    with contextlib.suppress(OSError):
      self._failed.rmdir()  # if it is empty
    return there

  def _take_place(self, cell: Cell, folder: Path) -> Path:
    aside = temporary.make(self._runs, cell.id[:12])
    target = self._runs / cell.folder_name
    for number, old in enumerate({*self._places(cell), target}):
      with contextlib.suppress(FileNotFoundError):
        os.rename(old, aside / str(number))
    os.rename(folder, target)
    shutil.rmtree(aside, ignore_errors=True)
    return target

  def _places(self, cell: Cell) -> list[Path]:
    """Folders of the cell's runs; their labels may differ."""
    return runs_of(self.folder, ending=cell.id[:12])

  # Failures. -----------------------------------------------------------------

  def fail(
      self,
      cell: Cell,
      message: str,
      folder: Path | None,
      made_by: dict[str, str],
      *,
      lasting: bool,
  ) -> Path:
    """Keeps what went wrong with a cell, and its log.

    Args:
      folder: of the run, None if it never had one; its log is kept.
      lasting: would go wrong again.
    """
    kept = self._failed / cell.folder_name
    kept.mkdir(parents=True, exist_ok=True)
    (kept / runfiles.LOG).unlink(missing_ok=True)
    if folder:
      with contextlib.suppress(FileNotFoundError):
        os.replace(folder / runfiles.LOG, kept / runfiles.LOG)
      shutil.rmtree(folder, ignore_errors=True)
    jsonfile.write(kept / "config.json", schema.tree_of(cell.run))
    jsonfile.write(
        kept / runfiles.STATUS,
        _identity(cell)
        | {"state": "failed", "message": message, "made_by": made_by}
        | {"lasting": lasting},
    )
    return kept

  def failure(self, cell: Cell, made_by: dict[str, str]) -> Failure | None:
    """How a cell failed when it would fail again: same code, same devices."""
    kept = self._failed / cell.folder_name
    status = runfiles.status_of(kept)
    known = status.get("cell") == cell.id and status.get("lasting")
    if not known or changed(status.get("made_by"), made_by):
      return None
    return Failure(kept, str(status.get("message")))

  def forget_failure(self, cell: Cell) -> None:
    """What comes next is told by what is there afterwards."""
    shutil.rmtree(self._failed / cell.folder_name, ignore_errors=True)

  def left_by_task(
      self, cell: Cell, made_by: dict[str, str]
  ) -> Path | Failure | None:
    """What another machine has made of a cell: a run or a failure.

    A shared file system may show it some time after it was written.
    """
    for pause_s in _SHARED_PAUSES_S:
      time.sleep(pause_s)
      kept = self._failed / cell.folder_name
      if (status := runfiles.status_of(kept)).get("cell") == cell.id:
        return Failure(kept, str(status.get("message")))
      if run := self.find(cell, made_by).run:
        return run
    return None

  # All cells. ----------------------------------------------------------------

  def rows(self) -> tuple[list[dict[str, Any]], list[str]]:
    """Summaries of all finished runs, and a line for each damaged one."""
    return table.rows_of(self.folder)

  def write_summary(self, experiment: dict[str, Any]) -> list[str]:
    """Rewrites experiment.json, summary.json and summary.csv.

    Returns:
      A line for each damaged run that is left out.
    """
    self.folder.mkdir(parents=True, exist_ok=True)
    with self.locked():
      for old in self.folder.glob(".tmp-*"):  # of a process that was killed
        if not old.is_dir():  # else somebody tries whether there is room
          old.unlink(missing_ok=True)
      rows, left_out = self.rows()
      jsonfile.write(self.folder / "experiment.json", experiment)
      jsonfile.write(self.folder / "summary.json", rows)
      jsonfile.write_text(self.folder / "summary.csv", table.csv_of(rows))
    return left_out

  def locked(
      self, name: str = lock.LOCK
  ) -> contextlib.AbstractContextManager[None]:
    """While this process alone does what the lock is for."""
    return lock.locked(self.folder / name)


def _is_writable(path: Path) -> bool:
  return os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK)


def _identity(cell: Cell) -> dict[str, Any]:
  return cell.described | {"work": cell.work_id}
