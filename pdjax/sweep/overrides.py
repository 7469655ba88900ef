"""The command line's changes to an experiment.

`--config.field=value` goes over the file's fields and those of its cases, and
`none` unsays what the file says there, be it a field or a whole section.
`--sweep=field=values` goes into the grid, over what the file has there and in
its cases; with `--sample` a span in it is drawn from. `--seeds`, `--where` and
`--order` stand for their parts of the sweep, and conditions are added to the
file's. None may contradict the file's sweep, or another, in silence.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from pdjax import literals, schema
from pdjax.config import ConfigError
from pdjax.reads import SEED
from pdjax.sweep import axis, sample
from pdjax.sweep.axis import Span
from pdjax.sweep.cells import Said
from pdjax.sweep.section import name_of
from pdjax.sweep.spread import REPEAT, Sweep
from pdjax.sweep.where import where_of
from pdjax.unknown import UNKNOWN

Flag = tuple[str, str]
"""A dotted path and the text it was given on the command line."""
_NAMING = ("strategy.kind", "cluster.split")
"""What names of cases usually tell."""


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
  parts = sweep.fields
  in_cases = parts.pop("sweep.cases")
  varied = [name for fields in parts.values() for name in fields]
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Added:
  """What a command line adds to a sweep."""

  axes: Sequence[Flag] = ()
  seeds: str | None = None
  sample: str | None = None
  """How many points to draw from the axes that are spans."""
  where: Sequence[str] = ()
  overridden: Sequence[str] = ()
  """Fields that `--config.` flags set."""


def extend(sweep: Sweep, added: Added, errors: list[str]) -> Sweep:
  """The sweep with what a command line adds to it."""
  errors += twice("--sweep=", list(added.axes))
  grid, spans = dict(sweep.grid), {}
  cases = sweep.cases
  for path, text in added.axes:
    errors += _set_too(f"--sweep={path}", path, sweep, added.overridden)
    cases = _without(cases, path)
    values = _axis(path, text, added.sample is not None, errors)
    if isinstance(values, Span):
      grid.pop(path, None)
      spans[path] = values
    else:
      grid[path if schema.exists(path) else schema.holder(path)] = values
  sweep = dataclasses.replace(
      sweep, cases=cases, grid=tuple(grid.items()),
      seeds=() if SEED in grid or SEED in spans else sweep.seeds,
      repeats=0 if REPEAT in grid else sweep.repeats,
      sample=(*sweep.sample, *_drawn(spans, added.sample, errors)),
      where=sweep.where + tuple(
          where for text in added.where
          for where in where_of("--where", text, errors)
      ),
  )
  return sweep if added.seeds is None else _seeded(sweep, added, errors)


def _axis(
    path: str, text: str, draws: bool, errors: list[str]
) -> tuple | Span:
  """A flag's values, or the span to draw them from."""
  hint = int if path == REPEAT else None
  try:
    span = axis.span_of(path, text, hint) if draws else None
    return span or axis.values_of(path, text, errors, hint)
  except ConfigError as error:
    errors += error.errors
    return (UNKNOWN,)


def _set_too(
    flag: str, path: str, sweep: Sweep, overridden: Iterable[str]
) -> list[str]:
  """What sets a field that a flag is to vary, and cannot be gone over."""
  parts = sweep.fields
  return [
      f"{flag}: the config's {part} sets it"
      for part in ("sweep.zip", "sweep.sample")
      if any(schema.overlap(path, name) for name in parts[part])
  ] + [
      f"{flag}: --config.{other} sets it too; say one"
      for other in dict.fromkeys(overridden)
      if schema.overlap(path, other)
  ]


def _drawn(spans: dict[str, Span], count: str | None, errors: list[str]):
  """The points of `--sample`, as columns of a sweep."""
  if count is None:
    return ()
  number = int(count) if count.strip().isdecimal() else count
  points = sample.count_of("--sample", number, errors)
  if not spans:
    errors.append(
        "--sample: no axis to draw from; give a span, as in"
        " --sweep='workload.rate=log(1,64)'"
    )
  if points is None or not spans:
    return ()
  return sample.points(spans, points)


def _seeded(sweep: Sweep, added: Added, errors: list[str]) -> Sweep:
  """The sweep with the seeds of `--seeds`, over what the file says of them."""
  assert added.seeds is not None
  flags = [path for path, _ in added.axes]
  errors += _set_too("--seeds", SEED, sweep, added.overridden)
  if SEED in flags:
    errors.append(f"--seeds: --sweep={SEED} sets it too; say one")
  return dataclasses.replace(
      sweep,
      cases=_without(sweep.cases, SEED),
      grid=tuple(column for column in sweep.grid if column[0] != SEED),
      seeds=axis.seeds_of("--seeds", added.seeds, errors),
  )


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


def _without(
    cases: tuple[tuple[str, Said], ...], path: str
) -> tuple[tuple[str, Said], ...]:
  """The cases without a field that a sweep varies.

  A case without its strategy or its split is another than its name says: it is
  named by what is left of it, and what is the same then is one case.
  """
  kept: dict[str, Said] = {}
  for name, said in cases:
    left = dict(said)
    _take_out(left, path)
    gone = any(field in said and field not in left for field in _NAMING)
    kept.setdefault(name_of(left) if gone else name, left)
  return tuple(kept.items())
