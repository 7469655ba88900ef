"""`python -m pdjax.replay`: a recorded run's decisions, taken once more.

The scheduler is fed the recorded events and must give the recorded commands.
No device and no cost model is needed.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from pdjax import schema
from pdjax.config import ConfigError
from pdjax.sweep import jsonfile

USAGE = """\
Feeds a run's recorded events to the scheduler; every command must come again.

  python -m pdjax.replay FOLDER...

FOLDER is a run's folder, or an experiment's, which means all its runs, or that
of a config with blocks, which means all of theirs. Exit status: 0 all commands
identical, 1 some are not, 2 no such run.
"""


def replay_run(folder: Path):
  """Replays one run's log; a `pdjax.schedule.replay.Replayed`.

  Raises:
    ConfigError: not a run's folder, or its policy cannot be imported.
  """
  from pdjax.cli.plant import pool_pages_of
  from pdjax.eventfile import EventFileError, read_log
  from pdjax.schedule.replay import replay
  from pdjax.schedule.setup import policy_of, world_of

  tree = jsonfile.read(folder / "config.json")
  if tree is None:
    raise ConfigError([f"{folder}: not a run's folder: no config.json"])
  run = schema.run_from_tree(tree)
  try:
    log = read_log(folder / "events.parquet")
  except EventFileError as error:
    raise ConfigError([str(error)]) from error
  return replay(log, policy_of(run), world_of(run, pool_pages_of(run)))


def runs_in(folder: Path) -> list[Path]:
  """The folder itself, or the runs of an experiment or of its blocks."""
  for pattern in ("runs/[!.]*", "*/runs/[!.]*"):
    if found := sorted(folder.glob(pattern)):
      return found
  return [folder]


def _name(run: Path, given: Path) -> str:
  """A run within what was asked for, `runs/` left out: `block/run`."""
  parts = run.relative_to(given).parts
  return "/".join(part for part in parts if part != "runs") or run.name


def main(arguments: Sequence[str]) -> int:
  if not arguments or {"--help", "-h"} & set(arguments):
    print(USAGE, end="")
    return 0 if arguments else 2
  diverged = False
  try:
    for given, run in (
        (path, run) for path in map(Path, arguments) for run in runs_in(path)
    ):
      result = replay_run(run)
      print(
          f"{_name(run, given)}: {result.identical} of {result.commands}"
          " commands identical"
      )
      if result.difference:
        diverged = True
        print(f"  first difference: {result.difference}")
  except ConfigError as error:
    for line in error.errors:
      print(line, file=sys.stderr)
    return 2
  return 1 if diverged else 0
