"""The folder of an experiment's results.

    <experiment>/
      experiment.json  summary.json  summary.csv  figures/
      runs/<slug>-<id>/      one finished cell
      failed/<slug>-<id>/    config.json, status.json with the message, log.txt

A run is written to a temporary folder in `runs/` and renamed, so it is there
whole or not at all, and never added to. Files over all runs are a function of
`runs/`, made under a lock and renamed too; so several processes may work on
one experiment.
"""

import contextlib
import csv
import fcntl
import io
import os
import platform
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pdjax import schema
from pdjax.sweep import jsonfile
from pdjax.sweep.cells import Cell

_TEMPORARY = ".tmp-"


class Store:
  """Results of one experiment. Making one writes nothing."""

  def __init__(self, folder: Path):
    self.folder = folder
    self._runs = folder / "runs"
    self._failed = folder / "failed"

  # One cell. -----------------------------------------------------------------

  def find(self, cell: Cell, made_by: dict) -> tuple[Path | None, str]:
    """The finished run of a cell, and why there is none to use.

    The reason is `new`, or `stale: ...` when other code or devices made it.
    """
    reason = "new"
    for path in sorted(self._runs.glob(f"*-{cell.id[:12]}")):
      status = jsonfile.read(path / "status.json") or {}
      if status.get("cell") != cell.id or status.get("state") != "done":
        continue
      changed = [
          name.removesuffix("_sha256").replace("_", " ")
          for name, value in made_by.items()
          if status.get("made_by", {}).get(name) != value
      ]
      if not changed:
        return path, "done"
      reason = f"stale: {', '.join(changed)} changed"
    return None, reason

  @contextlib.contextmanager
  def writing(self, cell: Cell) -> Iterator[Path]:
    """A temporary folder for a run; removed unless `finish` takes it."""
    self._runs.mkdir(parents=True, exist_ok=True)
    _sweep_up(self._runs)
    folder = self._runs / _temporary_name(cell)
    folder.mkdir()
    try:
      yield folder
    finally:
      shutil.rmtree(folder, ignore_errors=True)

  def finish(
      self, cell: Cell, temporary: Path, status: dict[str, Any]
  ) -> Path:
    """Makes a written run the cell's; the last of two writers wins."""
    told = jsonfile.read(temporary / "status.json") or {}
    jsonfile.write(
        temporary / "status.json",
        told | _identity(cell) | status | {"state": "done"},
    )
    target = self._runs / cell.folder_name
    for old in self._runs.glob(f"*-{cell.id[:12]}"):
      _discard(old, self._runs / _temporary_name(cell))
    try:
      os.rename(temporary, target)
    except OSError:
      # Another process finished the same cell just now: its run is as good.
      if not (target / "status.json").is_file():
        raise
    shutil.rmtree(self._failed / cell.folder_name, ignore_errors=True)
    with contextlib.suppress(OSError):
      self._failed.rmdir()  # if it is empty
    return target

  def fail(self, cell: Cell, message: str, log: str = "") -> Path:
    """Keeps what went wrong with a cell."""
    folder = self._failed / cell.folder_name
    folder.mkdir(parents=True, exist_ok=True)
    jsonfile.write(folder / "config.json", schema.tree_of(cell.run))
    jsonfile.write(
        folder / "status.json",
        _identity(cell) | {"state": "failed", "message": message},
    )
    jsonfile.write_text(folder / "log.txt", log)
    return folder

  # All cells. ----------------------------------------------------------------

  def rows(self) -> list[dict[str, Any]]:
    """Summaries of all finished runs with their cells' names, by label."""
    rows = []
    for path in sorted(self._runs.glob("[!.]*")):
      status = jsonfile.read(path / "status.json")
      summary = jsonfile.read(path / "summary.json")
      if status and summary is not None and status.get("state") == "done":
        rows.append({
            "label": status["label"],
            "cell": status["cell"],
            "run": f"runs/{path.name}",
            "repeat": status["repeat"],
            **summary,
        })
    return sorted(rows, key=lambda row: (row["label"], row["cell"]))

  def write_summary(self, experiment: dict[str, Any]) -> list[dict[str, Any]]:
    """Rewrites experiment.json, summary.json and summary.csv; the rows."""
    self.folder.mkdir(parents=True, exist_ok=True)
    with self._lock():
      rows = self.rows()
      jsonfile.write(self.folder / "experiment.json", experiment)
      jsonfile.write(self.folder / "summary.json", rows)
      jsonfile.write_text(self.folder / "summary.csv", _csv(rows))
    return rows

  @contextlib.contextmanager
  def _lock(self) -> Iterator[None]:
    with open(self.folder / ".lock", "w") as file:
      fcntl.flock(file, fcntl.LOCK_EX)
      yield


def _identity(cell: Cell) -> dict[str, Any]:
  return {
      "cell": cell.id,
      "label": cell.label,
      "case": cell.case,
      "swept": cell.swept,
      "repeat": cell.repeat,
  }


def _temporary_name(cell: Cell) -> str:
  mine = f"{platform.node()}-{os.getpid()}-{secrets.token_hex(4)}"
  return f"{_TEMPORARY}{cell.id[:12]}-{mine}"


def _discard(folder: Path, aside: Path) -> None:
  """Removes a folder so that no reader sees half of it."""
  try:
    os.rename(folder, aside)
  except OSError:
    return  # Another process did.
  shutil.rmtree(aside, ignore_errors=True)


def _sweep_up(runs: Path) -> None:
  """Removes what processes of this machine left when they were killed."""
  for folder in runs.glob(f"{_TEMPORARY}*-{platform.node()}-*"):
    pid = folder.name.split("-")[-2]
    try:
      os.kill(int(pid), 0)
    except ProcessLookupError:
      shutil.rmtree(folder, ignore_errors=True)
    except (ValueError, PermissionError):
      continue


def _csv(rows: list[dict[str, Any]]) -> str:
  names = dict.fromkeys(name for row in rows for name in row)
  text = io.StringIO()
  writer = csv.DictWriter(text, list(names), lineterminator="\n")
  writer.writeheader()
  for row in rows:
    writer.writerow(
        {
            name: jsonfile.canonical(value)
            if isinstance(value, (list, dict))
            else value
            for name, value in row.items()
        }
    )
  return text.getvalue()
