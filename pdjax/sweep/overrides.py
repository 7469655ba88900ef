"""The command line's changes to an experiment.

`--config.field=value` goes over the file's fields and those of its cases;
`none` for a whole section unsays all the file says there.
`--sweep=field=values` goes into the grid, over what the file has there. Neither
may contradict the file in silence.
"""

import dataclasses

from pdjax import literals, schema
from pdjax.config import ConfigError
from pdjax.sweep.cells import Sweep

Flag = tuple[str, str]
"""A dotted path and the text it was given on the command line."""


def override(
    tree: schema.Tree, sweep: Sweep, flags: list[Flag], errors: list[str]
) -> None:
  """Puts each flag's value into `tree`, and takes it out of the cases."""
  varied = {path for path, _ in (*sweep.zip, *sweep.grid)}
  varied |= {"workload.seed"} if sweep.seeds else set()
  for path, text in flags:
    try:
      if literals.unsays(path, text):
        schema.drop(tree, path)
        continue
      value = literals.from_text(path, text)
    except ConfigError as error:
      errors += error.errors
      continue
    in_cases = any(path in said for _, said in sweep.cases)
    if path in varied or (path == "strategy.kind" and in_cases):
      errors.append(
          f"{path}: the config's sweep sets it; say --sweep='{path}={text}'"
      )
      continue
    schema.put(tree, path, value)
    for _, said in sweep.cases:
      said.pop(path, None)


def extend(sweep: Sweep, flags: list[Flag], errors: list[str]) -> Sweep:
  """The sweep with each flag's values in its grid."""
  grid = dict(sweep.grid)
  for path, text in flags:
    if any(path == zipped for zipped, _ in sweep.zip):
      errors.append(f"--sweep={path}: the config's sweep.zip sets it")
    try:
      grid[path] = _values(path, text)
    except ConfigError as error:
      errors += error.errors
  seeds = () if "workload.seed" in grid else sweep.seeds
  return dataclasses.replace(sweep, grid=tuple(grid.items()), seeds=seeds)


def _values(path: str, text: str) -> tuple:
  if path != "repeat":
    values = literals.list_from_text(path, text)
  else:
    values = literals.list_from_text("workload.num_requests", text)
  if not values:
    raise ConfigError([f"--sweep={path}=: needs at least one value"])
  return values
