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

FOLDER is a run's folder, or an experiment's, which means all its runs. Exit
status: 0 all commands identical, 1 some are not, 2 no such run.
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
  """The folder itself, or the runs of an experiment's folder."""
  if not (folder / "runs").is_dir():
    return [folder]
  return sorted((folder / "runs").glob("[!.]*"))


def main(arguments: Sequence[str]) -> int:
  if not arguments or {"--help", "-h"} & set(arguments):
    print(USAGE, end="")
    return 0 if arguments else 2
  diverged = False
  try:
    for folder in (run for name in arguments for run in runs_in(Path(name))):
      result = replay_run(folder)
      print(
          f"{folder.name}: {result.identical} of {result.commands} commands"
          " identical"
      )
      if result.difference:
        diverged = True
        print(f"  first difference: {result.difference}")
  except ConfigError as error:
    for line in error.errors:
      print(line, file=sys.stderr)
    return 2
  return 1 if diverged else 0
