"""`python -m pdjax.replay`: a recorded run's decisions, taken once more.

The scheduler is fed the recorded events and must give the recorded commands.
No device and no cost model is needed.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pdjax import checks, inputfile, schema
from pdjax.cli import command
from pdjax.cli.arguments import Grammar, read, usage
from pdjax.cli.command import FAILED, MISTAKE, OK
from pdjax.config import ConfigError, Run
from pdjax.results import written
from pdjax.sweep import jsonfile
from pdjax.sweep.store import runs_of
from pdjax.userscode import to_the_end

USAGE = usage("""\
Feeds a run's recorded events to the scheduler; every command must come again.

  python -m pdjax.replay FOLDER...

""", """\
FOLDER is a run's folder, or an experiment's, which means all its runs, or that
of a config with blocks, which means all of theirs. All are tried, each has its
line.
""", "all commands identical", {1: "some are not"})


def replay_run(folder: Path):
  """Replays one run's log; a `pdjax.schedule.replay.Replayed`.

  Raises:
    ConfigError: not a run's folder, its files cannot be read, or its policy
      cannot be imported.
  """
  from pdjax.cli.plant import sizes_of
  from pdjax.eventfile import EventFileError, read_log
  from pdjax.schedule.replay import replay
  from pdjax.schedule.setup import world_of
  from pdjax.simulate.stepcosts import policy_for

  run = _config(folder / "config.json")
  try:
    log = read_log(folder / "events.parquet")
  except EventFileError as error:
    raise ConfigError([str(error)]) from error
  policy, world = policy_for(run), world_of(run, *sizes_of(run))
  with to_the_end(f"{folder}: {run.strategy.kind!r}"):
    return replay(log, policy, world)


def _config(path: Path) -> Run:
  """The config of a run, as far as a replay depends on it."""
  if reason := inputfile.folder_refusal(path.parent):
    raise ConfigError([f"{path.parent}: {reason}"])
  if not os.path.isfile(path):
    raise ConfigError([f"{path.parent}: not a run's folder: no config.json"])
  tree = jsonfile.read(path)
  if not isinstance(tree, dict):
    raise ConfigError([f"{path}: not a JSON object"])
  run, wrong = schema.read(tree)
  version = written.refusal(path.parent)
  errors = [] if wrong or version else checks.mistakes(run, checks.CHECKS)
  if errors:
    raise ConfigError([f"{path}: {'; '.join(errors)}"])
  if other := version or written.refusal(path.parent, asked=tree):
    raise ConfigError([f"{path.parent}: {other}"])
  return run


def runs_in(folder: Path) -> list[Path]:
  """The folder itself, or the runs of an experiment or of its blocks."""
  if found := runs_of(folder):
    return found
  blocks = sorted(folder.iterdir()) if os.path.isdir(folder) else []
  return [run for block in blocks for run in runs_of(block)] or [folder]


def _name(run: Path, given: Path) -> str:
  """A run within what was asked for, `runs/` left out: `block/run`."""
  parts = run.relative_to(given).parts
  return "/".join(part for part in parts if part != "runs") or run.name


def main(arguments: Sequence[str]) -> int:
  """Replays what the arguments name; returns the exit status."""
  return command.answer(_main, arguments)


def _main(arguments: Sequence[str]) -> int:
  said = read(arguments, Grammar())
  if said.help:
    print(USAGE, end="")
    return OK
  said.expect("a FOLDER of results")
  if said.errors:
    raise ConfigError(said.errors)
  statuses = [
      _tell(_name(run, given), run)
      for given in map(Path, said.given)
      for run in runs_in(given)
  ]
  return max(statuses)


def _tell(name: str, run: Path) -> int:
  """Replays a run and prints what came of it; returns the exit status."""
  try:
    result = replay_run(run)
  except ConfigError as error:
    print("; ".join(error.errors), file=sys.stderr)
    return MISTAKE
  print(f"{name}: {result.identical} of {result.commands} commands identical")
  if result.difference:
    print(f"  first difference: {result.difference}")
  return FAILED if result.difference else OK
