"""The command line's changes to an experiment.

`--config.field=value` goes over the file's fields and those of its cases, and
`none` unsays what the file says there, be it a field or a whole section.
`--sweep=field=values` goes into the grid, over what the file has there and in
its cases. Neither may contradict the file's sweep, or the other, in silence.
"""

import dataclasses
from collections.abc import Iterable
from typing import Any

from pdjax import literals, schema
from pdjax.config import ConfigError
from pdjax.sweep.spread import REPEAT, Sweep
from pdjax.unknown import UNKNOWN

Flag = tuple[str, str]
"""A dotted path and the text it was given on the command line."""


def override(
    tree: schema.Tree, sweep: Sweep, flags: list[Flag], errors: list[str]
) -> None:
  """Puts each flag's value into `tree`, and takes it out of the cases.

  Whoever reads the tree finds values of a wrong type; where there is no value
  at all, that of the field is unknown.
  """
  errors += twice("--config.", flags)
  for path, text in flags:
    if refused := _refused(path, text, sweep):
      errors.append(refused)
      continue
    try:
      if path != REPEAT and literals.unsays(path, text):
        schema.drop(tree, path)
      else:
        hint = int if path == REPEAT else None
        schema.put(tree, path, literals.read(path, text, hint))
    except ConfigError as error:
      errors += error.errors
      schema.put(tree, schema.holder(path), UNKNOWN)
    for _, said in sweep.cases:
      _take_out(said, path)


def _refused(path: str, text: str, sweep: Sweep) -> str | None:
  """Why the config's sweep does not let a flag set a field."""
  varied = [name for name, _ in (*sweep.zip, *sweep.grid)]
  varied += ["workload.seed"] if sweep.seeds else []
  in_cases = [name for _, said in sweep.cases for name in said]
  if "strategy.kind" in in_cases:
    varied.append("strategy.kind")
  # A case that says all of a field would go over a part of it.
  varied += [name for name in in_cases if path.startswith(f"{name}.")]
  for name in varied:
    if schema.overlap(path, name):
      return (
          f"{path}: the config's sweep sets {name}; say"
          f" --sweep='{name}={text if name == path else '...'}'"
      )
  return None


def extend(
    sweep: Sweep, flags: list[Flag], overridden: Iterable[str],
    errors: list[str],
) -> Sweep:
  """The sweep with each flag's values in its grid.

  `overridden`: the fields that `--config.` flags set.
  """
  errors += twice("--sweep=", flags)
  grid, set_too = dict(sweep.grid), dict.fromkeys(overridden)
  for path, text in flags:
    if any(schema.overlap(path, zipped) for zipped, _ in sweep.zip):
      errors.append(f"--sweep={path}: the config's sweep.zip sets it")
    errors += [
        f"--sweep={path}: --config.{other} sets it too; say one"
        for other in set_too
        if schema.overlap(path, other)
    ]
    for _, said in sweep.cases:
      _take_out(said, path)
    try:
      hint = int if path == REPEAT else None
      grid[path] = literals.list_from_text(path, text, errors, hint)
    except ConfigError as error:
      errors += error.errors
      grid[schema.holder(path)] = (UNKNOWN,)
  seeds = () if "workload.seed" in grid else sweep.seeds
  return dataclasses.replace(sweep, grid=tuple(grid.items()), seeds=seeds)


def twice(flag: str, flags: list[Flag]) -> list[str]:
  """A line for each path that is given more than once."""
  paths = [path for path, _ in flags]
  return [
      f"{flag}{path}: given {paths.count(path)} times; say it once"
      for path in dict.fromkeys(paths)
      if paths.count(path) > 1
  ]


def _take_out(said: dict[str, Any], path: str) -> None:
  """Drops a field from a case, and what it says within it."""
  for name in [name for name in said if f"{name}.".startswith(f"{path}.")]:
    del said[name]
