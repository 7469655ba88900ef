"""From the flags of `pdjax.preflight` to what has to be compiled."""

import dataclasses

from pdjax.aot.job import Job, jobs
from pdjax.aot.target import Target
from pdjax.cli import configfile, preflight
from pdjax.cli.flags import Flags
from pdjax.config import ConfigError, Run
from pdjax.sweep.cells import Cell, distinct, spread
from pdjax.sweep.experiment import experiments_of


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
  cells = _cells(flags, errors) if flags.config else []
  made, seen = [], set()
  for target in targets:
    for cell in cells:
      try:
        workload = preflight.workload_of(cell.run.workload)
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


def _cells(flags: Flags, errors: list[str]) -> list[Cell]:
  assert flags.config is not None
  try:
    path = configfile.find(flags.config)
    experiments, more = experiments_of(
        configfile.load(path), path.stem, flags.overrides, flags.sweeps
    )
  except ConfigError as error:
    raise ConfigError([*errors, *error.errors]) from None
  errors += more
  cells: list[Cell] = []
  for one in experiments:
    if one.reads:
      continue
    found, mistakes = spread(
        one.tree, one.sweep, _workload_mistakes,
        unknown_names=preflight.unknown_names,
    )
    errors += mistakes
    cells += distinct(found).cells
  return [] if errors else cells


def _workload_mistakes(run: Run) -> list[str]:
  try:
    preflight.workload_of(run.workload)
  except ConfigError as error:
    return error.errors
  return []
