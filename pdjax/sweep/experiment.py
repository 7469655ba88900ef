"""An experiment as a config file states it: fields, a sweep, a name.

A config is one experiment, or `blocks` of named experiments run in order. The
sections besides those of `config.Run`:

  name    folder of the results; default: the file's name
  sweep   grid   {field: values}, all combinations
          zip    {field: values}, varied together
          cases  ({"name": label, field: value, ...}, ...), in this order;
                 or {label: {field: value, ...}}
          seeds  values of workload.seed
  then    'module:function', called as function(folder, say) when the cells
          are done; folder is the experiment's, say(text) prints a line
  reads   name of an earlier block: `then` gets that block's folder, and this
          block has no cells of its own
  blocks  {name: experiment}

Fields are nested as in `Run` or dotted: {"strategy": {"chunk_size": (128,
256)}} and {"strategy.chunk_size": (128, 256)} say the same.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from pdjax import fieldtypes, schema
from pdjax.config import ConfigError, Run
from pdjax.sweep.cells import Said, Sweep
from pdjax.sweep.overrides import Flag, extend, override

_OWN = ("name", "sweep", "then", "reads")
_SWEEP = ("grid", "zip", "cases", "seeds")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
  """Cells to run under one name."""

  name: str
  """Of the folder of results; a block's is `config/block`."""
  tree: schema.Tree
  sweep: Sweep = Sweep()
  then: str = ""
  reads: str = ""
  """Name of the experiment whose results `then` reads; no cells of its own."""


def experiments_of(
    tree: Mapping,
    name: str,
    overrides: Sequence[Flag] = (),
    sweeps: Sequence[Flag] = (),
) -> tuple[list[Experiment], list[str]]:
  """The experiments of a config with the command line's changes.

  Also a line for each mistake of shape and of the command line; what is wrong
  is left out, so that the rest can be checked.

  Raises:
    ConfigError: no experiment can be made out at all.
  """
  errors: list[str] = []
  renamed = [text for path, text in overrides if path == "name"]
  name = _name(renamed[-1] if renamed else tree.get("name", name))
  blocks = tree.get("blocks")
  parts = {name: tree} if blocks is None else _blocks(tree, name)
  flags = [flag for flag in overrides if flag[0] != "name"]
  own = _shared_out(flags, parts, blocks, errors)
  own_sweeps = _shared_out(sweeps, parts, blocks, errors)
  experiments = []
  for full, part in parts.items():
    one = _experiment(part, full, name, errors)
    override(one.tree, one.sweep, own[full], errors)
    sweep = extend(one.sweep, own_sweeps[full], errors)
    experiments.append(dataclasses.replace(one, sweep=sweep))
  return experiments, errors


def _name(name: Any) -> str:
  if not isinstance(name, str) or not name or set(name) & set("/\\\0"):
    raise ConfigError([f"name: expected a folder's name, got {name!r}"])
  return name


def _blocks(tree: Mapping, name: str) -> dict[str, Mapping]:
  blocks = tree["blocks"]
  if not isinstance(blocks, Mapping) or not blocks:
    raise ConfigError(["blocks: expected named experiments, {name: config}"])
  errors = [
      f"{key}: a config with blocks has only name beside them"
      for key in tree
      if key not in ("name", "blocks")
  ]
  errors += [
      f"blocks.{key}: expected an experiment, got {block!r}"
      for key, block in blocks.items()
      if not isinstance(block, Mapping)
  ]
  if errors:
    raise ConfigError(errors)
  return {f"{name}/{key}": block for key, block in blocks.items()}


def _shared_out(
    flags: Sequence[Flag], parts: Mapping, blocks: Any, errors: list[str]
) -> dict[str, list[Flag]]:
  """Each experiment's flags; with blocks their paths start with a name."""
  if blocks is None:
    return {name: list(flags) for name in parts}
  by_key = {name.partition("/")[2]: name for name in parts}
  shares: dict[str, list[Flag]] = {name: [] for name in parts}
  for path, text in flags:
    key, _, rest = path.partition(".")
    if key in by_key and rest:
      shares[by_key[key]].append((rest, text))
    else:
      errors.append(
          f"{path}: this config has blocks; start with one of"
          f" {', '.join(by_key)}, as in {next(iter(by_key))}.{path}"
      )
  return shares


def _experiment(
    tree: Mapping, name: str, parent: str, errors: list[str]
) -> Experiment:
  words = {}
  for key in ("then", "reads"):
    words[key] = tree.get(key, "")
    if not isinstance(words[key], str):
      errors.append(f"{key}: expected a string, got {words[key]!r}")
      words[key] = ""
  rest = {key: value for key, value in tree.items() if key not in _OWN}
  if words["reads"]:
    if rest or tree.get("sweep"):
      errors.append("reads: such a block has no fields of a run and no sweep")
    words["reads"] = f"{parent}/{words['reads']}"
  return Experiment(
      name=name,
      tree=_run_fields(rest, errors),
      sweep=_sweep(tree.get("sweep") or {}, errors),
      **words,
  )


def _run_fields(tree: Mapping, errors: list[str]) -> schema.Tree:
  """Nested fields of a run; the sections' names are checked with ours."""
  known = (*fieldtypes.hints_of(Run), *_OWN, "blocks")
  nested: schema.Tree = {}
  for key, value in tree.items():
    section = str(key).partition(".")[0]
    if section not in known:
      errors.append(fieldtypes.unknown("", section, known))
      continue
    try:
      for path, leaf in schema.leaves({key: value}).items():
        schema.put(nested, path, leaf)
    except ConfigError as error:
      errors += error.errors
  return nested


def _sweep(tree: Any, errors: list[str]) -> Sweep:
  if not isinstance(tree, Mapping):
    errors.append(f"sweep: expected a section, got {tree!r}")
    return Sweep()
  errors += [
      fieldtypes.unknown("sweep.", str(key), _SWEEP)
      for key in tree
      if key not in _SWEEP
  ]
  parts: dict[str, Any] = {}
  readers = {"grid": _columns, "zip": _zip, "cases": _cases, "seeds": _seeds}
  for key, reader in readers.items():
    try:
      parts[key] = reader(f"sweep.{key}", tree.get(key) or {})
    except ConfigError as error:
      errors += error.errors
  return Sweep(**parts)


def _seeds(path: str, seeds: Any) -> tuple[int, ...]:
  if seeds and not isinstance(seeds, (tuple, list)):
    raise ConfigError([f"{path}: expected a tuple of integers, got {seeds!r}"])
  return tuple(seeds)


def _zip(path: str, tree: Any) -> tuple[tuple[str, tuple], ...]:
  columns = _columns(path, tree)
  counts = {field: len(values) for field, values in columns}
  if len(set(counts.values())) > 1:
    shown = ", ".join(f"{field} {count}" for field, count in counts.items())
    raise ConfigError([f"{path}: fields need equally many values: {shown}"])
  return columns


def _fields(path: str, tree: Any) -> Said:
  """Values by field; `repeat` is not a field of a run but may vary."""
  if not isinstance(tree, Mapping):
    raise ConfigError([f"{path}: expected {{field: ...}}, got {tree!r}"])
  repeat = {key: tree[key] for key in tree if key == "repeat"}
  rest = {key: value for key, value in tree.items() if key != "repeat"}
  try:
    return schema.leaves(rest) | repeat
  except ConfigError as error:
    raise ConfigError([f"{path}: {line}" for line in error.errors]) from None


def _columns(path: str, tree: Any) -> tuple[tuple[str, tuple], ...]:
  columns = _fields(path, tree)
  errors = [
      f"{path}.{field}: expected a tuple of values, got {values!r}"
      for field, values in columns.items()
      if not isinstance(values, (tuple, list)) or not values
  ]
  if errors:
    raise ConfigError(errors)
  return tuple((field, tuple(values)) for field, values in columns.items())


def _cases(path: str, tree: Any) -> tuple[tuple[str, Said], ...]:
  if isinstance(tree, Mapping):
    return tuple(
        (str(name), _fields(f"{path}.{name}", case))
        for name, case in tree.items()
    )
  if not isinstance(tree, (tuple, list)):
    raise ConfigError([f"{path}: expected cases, got {tree!r}"])
  return tuple(
      _case(f"{path}[{index}]", case) for index, case in enumerate(tree)
  )


def _case(path: str, tree: Any) -> tuple[str, Said]:
  """One case of a tuple; `name` is its label, else what it sets."""
  named = isinstance(tree, Mapping) and "name" in tree
  rest = {k: v for k, v in tree.items() if k != "name"} if named else tree
  fields = _fields(path, rest)
  return (str(tree["name"]) if named else _case_name(fields)), fields


def _case_name(said: Said) -> str:
  return " ".join(
      f"{field.rpartition('.')[2]}={value}" for field, value in said.items()
  )
