"""Runs planned experiments and tells the reader what happens.

Finished cells are kept as they finish; what fails is listed at the end.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pdjax.cli.commands import commands
from pdjax.cli.designs import rivals_of
from pdjax.cli.estimate import Seen, estimate
from pdjax.cli.flags import Flags
from pdjax.cli.plan import Part, made_by
from pdjax.cli.work import Work, width_of
from pdjax.config import ConfigError
from pdjax.metrics import provenance
from pdjax.sweep import choice
from pdjax.sweep.cells import Cell
from pdjax.sweep.worker import message_of
from pdjax.userscode import process_goes_on


def say(text: str) -> None:
  print(text, flush=True)


def show_commands(
    parts: list[Part], flags: Flags, arguments: Sequence[str]
) -> None:
  """`--print_commands`: a line for each cell that is to be run."""
  chosen = list(zip(parts, _chosen(parts, flags), strict=True))
  for line in commands(arguments, flags, chosen):
    say(line)


def show(parts: list[Part], flags: Flags) -> None:
  """`--dry_run`: the cells, which are done, and how long the others take."""
  seen: list[Seen] = []
  for number, cells in enumerate(_chosen(parts, flags)):
    say(_head(parts, number, cells))
    part = parts[number]
    width = width_of(part)
    for cell in cells:
      found = part.store.find(cell, made_by(cell))
      reason, due = found.reason, flags.rerun or found.run is None
      if found.run is None and part.store.failure(cell, made_by(cell)):
        reason = "failed before; --retry_failed runs it again"
        due = flags.rerun or flags.retry_failed
      seen.append(Seen(cell, due, part.store.any_run(cell)))
      say(f"  {cell.label:<{width}}  {cell.id[:12]}  {reason}")
  if told := estimate(seen):
    say(told)


def run(parts: list[Part], flags: Flags) -> list[str]:
  """Runs all experiments in order; returns a line for each failure.

  Raises:
    ConfigError: something else stands where results must go, or no cell has
      an id that was asked for.
  """
  chosen = _chosen(parts, flags)
  if obstacles := [line for part in parts for line in part.store.obstacles()]:
    raise ConfigError(list(dict.fromkeys(obstacles)))
  # Processes that do runs inherit it.
  os.environ[provenance.COMMAND] = json.dumps(sys.orig_argv)
  failures: list[str] = []
  written: list[Path] = []
  for number, (part, cells) in enumerate(zip(parts, chosen, strict=True)):
    if not cells and part.cells.cells:
      continue
    say(_head(parts, number, cells))
    if part.experiment.search:
      failures += _search(part, flags)
    elif cells:
      failures += _run_cells(part, cells, flags)
    if failures and flags.fail_fast:
      say("\nstopped at the first failure, as asked")
      break
    if part.then is not None:
      failures += _call_then(part, parts, flags, written)
  if failures:
    say("\nfailed:")
    for line in failures:
      say(f"  {line}")
  places = [part.store.folder for part in parts if part.store.folder.is_dir()]
  where = ", ".join(map(str, [*places, *written]))
  say(f"\nresults: {where}")
  return failures


def _chosen(parts: list[Part], flags: Flags) -> list[tuple[Cell, ...]]:
  """The cells of each experiment that this command runs."""
  chosen = [part.cells.cells for part in parts]
  unknown = [
      f"--cell={start}: no cell has this id; --dry_run shows them"
      for start in flags.cells
      if not any(choice.with_ids(cells, [start]) for cells in chosen)
  ]
  if unknown:
    raise ConfigError(unknown)
  if flags.share:
    chosen = [choice.share(cells, *flags.share) for cells in chosen]
  if flags.cells:
    chosen = [choice.with_ids(cells, flags.cells) for cells in chosen]
    if not any(chosen):
      raise ConfigError([
          f"--cell: none of these cells is in --shard={flags.shard}; say one"
          " of the two"
      ])
  return chosen


def _head(parts: list[Part], number: int, chosen: Sequence[Cell]) -> str:
  part = parts[number]
  block = f"\n[{number + 1}/{len(parts)}] {part.experiment.block}: "
  count = len(part.cells.cells)
  cells = f"{count} cell" + ("" if count == 1 else "s")
  if len(chosen) < count:
    cells = f"{len(chosen)} of {cells}"
  if not count:
    cells = f"reads {part.experiment.reads.partition('/')[2]}"
  if part.experiment.search:
    found = len(rivals_of(part.cells.cells))
    cells = f"{found} rivals, {count} designs"
  merged = part.cells.merged
  note = f" ({merged} merged with an equal one)" if merged else ""
  return (block if len(parts) > 1 else "") + cells + note


def _run_cells(
    part: Part, cells: Sequence[Cell], flags: Flags
) -> list[str]:
  """Runs what is not done and compares; a line for each failure."""
  from pdjax.cli.comparison import compare

  work = Work(part, cells, flags, say)
  work.run()
  try:
    compare(part, work.runs, say)
  except OSError as error:  # a full disk; the runs themselves are whole
    return [*work.failures, f"{part.name}: {message_of(error)}"]
  return work.failures


def _search(part: Part, flags: Flags) -> list[str]:
  """Looks for the highest rates; a line for each failure."""
  from pdjax.cli.searching import search

  try:
    return search(part, flags, say)
  except OSError as error:
    return [f"{part.name}: {message_of(error)}"]


def _call_then(
    part: Part, parts: list[Part], flags: Flags, written: list[Path]
) -> list[str]:
  """Calls a reader of results; a path it returns is a file it wrote.

  A command that was to run a share of the cells leaves it to the one that
  finds all of them done.
  """
  assert part.then is not None
  read = part.experiment.reads or part.name
  (source,) = (other for other in parts if other.name == read)
  if flags.share or flags.cells:
    if undone := _undone(source):
      say(f"  {part.experiment.then} waits for {undone} more cells")
      return []
  try:
    with process_goes_on():
      made = part.then(source.store.folder, say)
  except KeyboardInterrupt:
    raise
  except BaseException as error:  # a reader of results must not lose them
    return [f"{part.name}: then: {message_of(error)}"]
  if isinstance(made, Path):
    written.append(made)
  return []


def _undone(part: Part) -> int:
  """Cells without a finished run."""
  return sum(
      part.store.find(cell, made_by(cell)).run is None
      for cell in part.cells.cells
  )
