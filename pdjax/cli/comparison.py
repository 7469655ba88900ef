"""What is over all runs of an experiment: summary, tables, checks, report."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pdjax.cli import report
from pdjax.cli.finished import Finished
from pdjax.cli.plan import Part, made_by
from pdjax.cli.proof import proof
from pdjax.report.tables import comparison
from pdjax.sweep.store import REPORT_LOCK

Say = Callable[[str], None]


def compare(part: Part, runs: Mapping[str, Path], say: Say) -> None:
  """Rewrites the files over all runs, and shows this experiment's cells.

  Args:
    runs: folders of cells known to be finished, by id. Others may have been
      finished by other commands.

  Raises:
    OSError: the files cannot be written.
  """
  for line in part.store.write_summary(_description(part)):
    say(f"! left out of the summary, damaged: {line}")
  finished = _finished(part, runs)
  if finished:
    _show(finished, say)
  with part.store.locked(REPORT_LOCK):
    # The last command to get here shows what all have done.
    page = report.remake(part.store.folder)
  if page:
    say(f"\nreport: {page}")


def _show(finished: list[Finished], say: Say) -> None:
  say("\n" + comparison([one.shown() for one in finished]))
  if checks := proof([(one.label, one.folder) for one in finished]):
    say("\n" + checks)


def _finished(part: Part, runs: Mapping[str, Path]) -> list[Finished]:
  found = [
      (cell, runs.get(cell.id) or part.store.find(cell, made_by(cell)).run)
      for cell in part.cells.cells
  ]
  return [
      Finished(label=cell.label, folder=run, slo=cell.run.slo)
      for cell, run in found
      if run is not None
  ]


def _description(part: Part) -> dict[str, Any]:
  """What `experiment.json` holds."""
  return {
      "name": part.name,
      "question": part.question,
      "cells": [cell.described for cell in part.cells.cells],
      "merged": part.cells.merged,
  }
