"""Runs planned experiments and tells the reader what happens.

Finished cells are kept as they finish; what fails is listed at the end.
"""

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pdjax.cli import cell as cell_module
from pdjax.cli.plan import Part, made_by
from pdjax.cli.proof import proof
from pdjax.metrics import provenance
from pdjax.sweep import jsonfile, launch
from pdjax.sweep.cells import Cell


def say(text: str) -> None:
  print(text, flush=True)


def show(parts: list[Part]) -> None:
  """`--dry_run`: the cells and which of them are done."""
  for number, part in enumerate(parts, start=1):
    say(_head(part, number, len(parts)))
    width = _width(part)
    for cell in part.cells.cells:
      _, reason = part.store.find(cell, made_by(cell))
      say(f"  {cell.label:<{width}}  {cell.id[:12]}  {reason}")


def run(parts: list[Part]) -> list[str]:
  """Runs all experiments in order; returns a line for each failure."""
  failures: list[str] = []
  folders: dict[str, Path] = {}
  written: list[Path] = []
  # Processes that do runs inherit it.
  os.environ[provenance.COMMAND] = json.dumps(sys.orig_argv)
  for number, part in enumerate(parts, start=1):
    say(_head(part, number, len(parts)))
    folders[part.name] = part.store.folder
    if part.cells.cells:
      failures += _run_cells(part)
      _compare(part)
    if part.then is not None:
      failures += _call_then(part, folders, written)
  if failures:
    say("\nfailed:")
    for line in failures:
      say(f"  {line}")
  places = [folder for folder in folders.values() if folder.is_dir()]
  where = ", ".join(map(str, [*places, *written]))
  say(f"\nresults: {where}")
  return failures


def _head(part: Part, number: int, total: int) -> str:
  block = f"\n[{number}/{total}] {part.name.partition('/')[2]}: "
  count = len(part.cells.cells)
  cells = f"{count} cell" + ("" if count == 1 else "s")
  if not count:
    cells = f"reads {part.experiment.reads.partition('/')[2]}"
  merged = part.cells.merged
  note = f" ({merged} merged with an equal one)" if merged else ""
  return (block if total > 1 else "") + cells + note


def _width(part: Part) -> int:
  return max((len(cell.label) for cell in part.cells.cells), default=0)


def _run_cells(part: Part) -> list[str]:
  """Runs what is not done; returns a line for each failure."""
  width = _width(part)

  def tell(cell: Cell, text: str) -> None:
    say(f"  {cell.label:<{width}}  {text}")

  failures = []
  with contextlib.ExitStack() as stack:
    jobs = []
    for cell in part.cells.cells:
      done, reason = part.store.find(cell, made_by(cell))
      if done:
        tell(cell, "done before")
        continue
      if reason != "new":
        tell(cell, f"runs again, {reason}")
      folder = stack.enter_context(part.store.writing(cell))
      jobs.append(launch.Job(cell=cell, folder=folder))
    command = launch.command_of("pdjax.cli.cell")
    for outcome in launch.launch(jobs, cell_module.run_cell, command, tell):
      failures += _keep(part, outcome, tell)
  return failures


def _keep(
    part: Part, outcome: launch.Outcome, tell: Callable[[Cell, str], None]
) -> list[str]:
  cell = outcome.job.cell
  if outcome.message:
    folder = part.store.fail(cell, outcome.message, outcome.log)
    tell(cell, f"FAILED: {outcome.message}")
    return [f"{part.name} {cell.label}: {outcome.message} (see {folder})"]
  status = {"made_by": made_by(cell), "finished": _now()}
  _place(outcome.job.folder, part.store.folder / "runs" / cell.folder_name)
  part.store.finish(cell, outcome.job.folder, status)
  tell(cell, f"done in {outcome.seconds:.0f} s")
  return []


def _place(temporary: Path, final: Path) -> None:
  """Says in a run's provenance how it is repeated from its final folder."""
  path = temporary / "provenance.json"
  told = jsonfile.read(path) | {"repeat": provenance.repeat_command(final)}
  jsonfile.write(path, told)


def _now() -> str:
  return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _compare(part: Part) -> None:
  """Rewrites what is over all runs, and shows this experiment's cells."""
  from pdjax.cli import compare

  cells = part.cells.cells
  part.store.write_summary({
      "name": part.name,
      "question": part.question,
      "cells": [
          {
              "cell": cell.id,
              "label": cell.label,
              "case": cell.case,
              "swept": cell.swept,
              "repeat": cell.repeat,
          }
          for cell in cells
      ],
      "merged": part.cells.merged,
  })
  finished = []
  for cell in cells:
    folder, _ = part.store.find(cell, made_by(cell))
    if folder:
      finished.append(compare.Finished(label=cell.label, folder=folder))
  if finished:
    say("\n" + compare.tables(finished))
    if checks := proof([(one.label, one.folder) for one in finished]):
      say("\n" + checks)
    compare.figures(part, finished)


def _call_then(
    part: Part, folders: dict[str, Path], written: list[Path]
) -> list[str]:
  """Calls a reader of results; a path it returns is a file it wrote."""
  assert part.then is not None
  folder = folders[part.experiment.reads or part.name]
  try:
    made = part.then(folder, say)
  except Exception as error:  # a reader of results must not lose them
    return [f"{part.name}: {launch.message_of(error)}"]
  if isinstance(made, Path):
    written.append(made)
  return []
