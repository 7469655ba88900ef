"""Runs planned experiments and tells the reader what happens.

Finished cells are kept as they finish; what fails is listed at the end.
"""

import json
import os
import sys
from pathlib import Path

from pdjax.cli.plan import Part, made_by
from pdjax.cli.proof import proof
from pdjax.cli.work import Work, width_of
from pdjax.config import ConfigError
from pdjax.metrics import provenance
from pdjax.sweep.worker import message_of


def say(text: str) -> None:
  print(text, flush=True)


def show(parts: list[Part]) -> None:
  """`--dry_run`: the cells and which of them are done."""
  for number, part in enumerate(parts, start=1):
    say(_head(part, number, len(parts)))
    width = width_of(part)
    for cell in part.cells.cells:
      found = part.store.find(cell, made_by(cell))
      say(f"  {cell.label:<{width}}  {cell.id[:12]}  {found.reason}")


def run(parts: list[Part]) -> list[str]:
  """Runs all experiments in order; returns a line for each failure.

  Raises:
    ConfigError: something else stands where results must go.
  """
  if obstacles := [line for part in parts for line in part.store.obstacles()]:
    raise ConfigError(list(dict.fromkeys(obstacles)))
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


def _run_cells(part: Part) -> list[str]:
  """Runs what is not done and compares; a line for each failure."""
  work = Work(part, say)
  work.run()
  try:
    _compare(part, work.runs)
  except OSError as error:  # a full disk; the runs themselves are whole
    return [*work.failures, f"{part.name}: {message_of(error)}"]
  return work.failures


def _compare(part: Part, runs: dict[str, Path]) -> None:
  """Rewrites what is over all runs, and shows this experiment's cells."""
  from pdjax.cli import compare, figures

  for line in part.store.write_summary(_description(part)):
    say(f"! left out of the summary, damaged: {line}")
  finished = [
      compare.Finished(
          label=cell.label, folder=runs[cell.id], slo=cell.run.slo
      )
      for cell in part.cells.cells
      if cell.id in runs
  ]
  if finished:
    say("\n" + compare.tables(finished))
    if checks := proof([(one.label, one.folder) for one in finished]):
      say("\n" + checks)
    figures.draw(part.name, finished, part.store.folder / "figures")


def _description(part: Part) -> dict:
  """What `experiment.json` holds."""
  cells = [
      {
          "cell": cell.id,
          "label": cell.label,
          "case": cell.case,
          "swept": cell.swept,
          "repeat": cell.repeat,
      }
      for cell in part.cells.cells
  ]
  return {
      "name": part.name,
      "question": part.question,
      "cells": cells,
      "merged": part.cells.merged,
  }


def _call_then(
    part: Part, folders: dict[str, Path], written: list[Path]
) -> list[str]:
  """Calls a reader of results; a path it returns is a file it wrote."""
  assert part.then is not None
  folder = folders[part.experiment.reads or part.name]
  try:
    made = part.then(folder, say)
  except KeyboardInterrupt:
    raise
  except BaseException as error:  # a reader of results must not lose them
    return [f"{part.name}: then: {message_of(error)}"]
  if isinstance(made, Path):
    written.append(made)
  return []
