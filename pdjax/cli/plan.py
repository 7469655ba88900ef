"""From flags to cells: nothing runs and nothing is written here."""

import dataclasses
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pdjax import schema
from pdjax.cli import configfile, designs, preflight
from pdjax.cli.flags import Flags
from pdjax.config import ConfigError
from pdjax.sweep import devices, launchers, source, temporary
from pdjax.sweep.cells import Cell, Cells, distinct
from pdjax.sweep.experiment import Asked, Experiment, experiments_of
from pdjax.sweep.search import designs_of
from pdjax.sweep.spread import spread
from pdjax.sweep.store import Store
from pdjax.userscode import users_code

Then = Callable[[Path, Callable[[str], None]], Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Part:
  """One experiment and where it stands in a config with blocks."""

  experiment: Experiment
  cells: Cells
  store: Store
  question: str
  then: Then | None

  @property
  def name(self) -> str:
    return self.experiment.name


def plan(flags: Flags, errors: list[str]) -> list[Part]:
  """The experiments that the flags ask for.

  Args:
    errors: lines of mistakes found so far.

  Raises:
    ConfigError: every mistake, one line each.
  """
  assert flags.config is not None
  path = _found(flags.config, errors)
  question = configfile.question(path)
  experiments, more = experiments_of(
      _loaded(path, errors), path.stem, asked_of(flags)
  )
  errors += more
  if not flags.quiet:
    first_line = question.partition("\n")[0]
    print(f"{path.stem}: {first_line}" if first_line else path.stem, flush=True)
  spreads = [_spread(one, errors) for one in experiments]
  thens = [_then(one, errors) for one in experiments]
  errors += _reads_errors(experiments)
  errors += _unfit_flags(experiments, flags)
  errors += launchers.mistakes(flags.launcher, flags.launcher_options)
  if flags.profile:
    errors += _untraceable([cell for cells in spreads for cell in cells])
  output = Path(flags.output_dir)
  if reason := temporary.refusal(output):
    errors.append(f"--output_dir={output}: {reason}")
  if errors:
    raise ConfigError(list(dict.fromkeys(errors)))
  return [
      Part(
          experiment=one,
          cells=distinct(map(_with_inputs, cells)),
          store=Store(output / one.name),
          question=question,
          then=then,
      )
      for one, cells, then in zip(experiments, spreads, thens, strict=True)
  ]


def asked_of(flags: Flags) -> Asked:
  """What the flags say about experiments."""
  return Asked(
      overrides=flags.overrides, sweeps=flags.sweeps, only=flags.only,
      seeds=flags.seeds, sample=flags.sample, where=flags.where,
  )


def _found(name: str, errors: list[str]) -> Path:
  try:
    return configfile.find(name)
  except ConfigError as error:
    raise ConfigError([*errors, *error.errors]) from None


def _loaded(path: Path, errors: list[str]) -> schema.Tree:
  try:
    return configfile.load(path)
  except ConfigError as error:
    raise ConfigError([*errors, *error.errors]) from None


def _spread(one: Experiment, errors: list[str]) -> tuple[Cell, ...]:
  if one.reads:
    return ()
  sweep, asked = one.sweep, preflight.CHECKS
  if one.search:
    sweep, asked = designs_of(sweep), (*asked, *designs.CHECKS)
  cells, mistakes = spread(one.tree, sweep, asked, one.only)
  if one.search and cells:
    cells = distinct(cells).cells
    mistakes += designs.mistakes(one.search, cells)
  errors += [_in_block(one, line) for line in mistakes]
  return cells


def _unfit_flags(
    experiments: list[Experiment], flags: Flags
) -> list[str]:
  """Flags that choose cells beforehand, which a search cannot know."""
  given = {
      "--shard": flags.shard, "--cell": flags.cells,
      "--print_commands": flags.print_commands,
  }
  searched = any(one.search for one in experiments)
  return [
      f"{name}: the runs of sweep.search follow from the results of others, so"
      " they cannot be chosen beforehand"
      for name, value in given.items()
      if value and searched
  ]


def _untraceable(cells: list[Cell]) -> list[str]:
  """A line if there are cells without steps that JAX could trace."""
  simulated = [cell for cell in cells if cell.run.backend.kind != "jax"]
  if not simulated:
    return []
  return [
      f"--profile: {len(simulated)} of {len(cells)} cells are simulated, such"
      f" as {simulated[0].label!r}; a JAX trace is of steps on real devices:"
      " choose those with --only, or set backend.kind=jax"
  ]


def _in_block(one: Experiment, line: str) -> str:
  return f"{one.block}: {line}" if one.block else line


def _with_inputs(cell: Cell) -> Cell:
  return dataclasses.replace(cell, inputs=preflight.inputs_of(cell.run))


def _then(one: Experiment, errors: list[str]) -> Then | None:
  if not one.then:
    if one.reads:
      errors.append(_in_block(one, "reads: needs then='module:function'"))
    return None
  module, _, function = one.then.partition(":")
  try:
    with users_code(f"then: {one.then!r}"):
      found = getattr(importlib.import_module(module), function)
  except ConfigError as error:
    errors += [_in_block(one, line) for line in error.errors]
    return None
  if callable(found):
    return found
  errors.append(_in_block(one, f"then: {one.then!r}: not a function"))
  return None


def _reads_errors(experiments: list[Experiment]) -> list[str]:
  names = [one.name for one in experiments]
  return [
      _in_block(
          one,
          f"reads: {one.reads.partition('/')[2]!r} is no earlier block of this"
          " config",
      )
      for place, one in enumerate(experiments)
      if one.reads and one.reads not in names[:place]
  ]


def made_by(cell: Cell) -> dict[str, str]:
  """What a finished run of the cell must have been made by to count."""
  run = cell.run
  measured = run.backend.kind == "jax"
  device_kind = devices.devices_of(run).kind if measured else ""
  return source.made_by(run.strategy.kind, device_kind)


def as_json(parts: list[Part]) -> str:
  """Every cell's resolved config, by experiment."""
  shown = {
      part.name: [
          {
              "label": cell.label,
              "cell": cell.id,
              "config": schema.tree_of(cell.run),
          }
          for cell in part.cells.cells
      ]
      for part in parts
  }
  return json.dumps(shown, indent=2)
