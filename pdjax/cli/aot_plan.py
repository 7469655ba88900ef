"""From the flags of `pdjax.preflight` to what has to be compiled."""

import dataclasses

from pdjax import checks
from pdjax.aot.job import Job, jobs
from pdjax.aot.target import Target
from pdjax.cli import configfile, preflight, requests
from pdjax.cli.flags import Flags
from pdjax.cli.plan import asked_of
from pdjax.config import ConfigError
from pdjax.sweep.cells import Cell, distinct
from pdjax.sweep.experiment import experiments_of
from pdjax.sweep.spread import spread


@dataclasses.dataclass(frozen=True)
class Plan:
  """One cell's programs on one target."""

  cell: Cell
  target: Target
  jobs: tuple[Job, ...]


def plans(
    flags: Flags, targets: list[Target], all_buckets: bool, errors: list[str]
) -> list[Plan]:
  """Every cell on every target; alike programs are compiled once.

  Raises:
    ConfigError: every mistake, one line each.
  """
  cells = cells_of(flags, errors) if flags.config else []
  made, seen = [], set()
  for target in targets:
    for cell in cells:
      try:
        workload = requests.workload_of(cell.run.workload)
        found = jobs(cell.run, workload, target, all_buckets=all_buckets)
      except ConfigError as error:
        errors += [f"{line} (in cell {cell.label})" for line in error.errors]
        continue
      new = [job for job in found if _key(job, target) not in seen]
      seen |= {_key(job, target) for job in new}
      if new:
        made.append(Plan(cell, target, tuple(new)))
  if errors:
    raise ConfigError(list(dict.fromkeys(errors)))
  return made


def _key(job: Job, target: Target) -> tuple:
  """What the programs depend on."""
  run = job.run
  return (
      target.name, run.model, run.cluster.page_tokens, run.sampling,
      run.strategy.transfer, job.pool.tp, job.pool.kv_tokens, job.shapes,
  )


def cells_of(flags: Flags, errors: list[str]) -> list[Cell]:
  """Different cells of a config and of its blocks; none if there is a mistake.

  Raises:
    ConfigError: the config cannot be read.
  """
  assert flags.config is not None
  try:
    path = configfile.find(flags.config)
    experiments, more = experiments_of(
        configfile.load(path),
        path.stem,
        asked_of(flags),
    )
  except ConfigError as error:
    raise ConfigError([*errors, *error.errors]) from None
  errors += more
  cells: list[Cell] = []
  for one in experiments:
    if one.reads:
      continue
    asked = (*checks.CHECKS, *preflight.NAMES, *requests.CHECKS)
    found, mistakes = spread(one.tree, one.sweep, asked, one.only)
    errors += mistakes
    cells += distinct(found).cells
  return [] if errors else cells
