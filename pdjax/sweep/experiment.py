"""An experiment as a config file states it: fields, a sweep, a name.

A config is one experiment, or `blocks` of named experiments run in order. The
sections besides those of `config.Run`:

  name    folder of the results; default: the file's name
  sweep   grid   {field: values}, all combinations
          zip    {field: values}, varied together
          cases  ({"name": label, field: value, ...}, ...), in this order;
                 or {label: {field: value, ...}}
          sample {"count": n, "seed": s, "fields": {field: "log(1,64)"}}
          seeds  values of workload.seed, or "0-4"
          repeats  how often each cell is run
          where  a condition, or several, that each cell must meet
          order  `given` or `shuffled`
          Values may be text as on the command line: "log(1,64,7)"
          search the highest rate within the SLO is looked for, instead of
                 rates being said; see `pdjax.sweep.search`
  then    'module:function', called as function(folder, say) when the cells
          are done; folder is the experiment's, say(text) prints a line
  reads   name of an earlier block: `then` gets that block's folder, and this
          block has no cells of its own
  repeat  the number of an equal run, for noise floors; may be swept too
  blocks  {name: experiment}

Fields are nested as in `Run` or dotted: {"strategy": {"chunk_size": (128,
256)}} and {"strategy.chunk_size": (128, 256)} say the same.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from pdjax import fieldtypes, schema
from pdjax.config import Run
from pdjax.fieldtypes import nearest, shown
from pdjax.sweep.only import Only, only_of
from pdjax.sweep.overrides import Added, Flag, extend, override, twice
from pdjax.sweep.search import Search, search_of
from pdjax.sweep.section import SEARCH, fields_of, sweep_of
from pdjax.sweep.spread import REPEAT, Sweep
from pdjax.unknown import UNKNOWN

_OWN = ("name", "sweep", "then", "reads")
_NAME_CHARACTERS = 100


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
  """Cells to run under one name."""

  name: str
  """Of the folder of results; a block's is `config/block`."""
  block: str = ""
  """The block's own name."""
  tree: schema.Tree
  sweep: Sweep = Sweep()
  search: Search | None = None
  """Whether rates are looked for: then `sweep` is of designs."""
  only: Only = ()
  """Which of the cells are wanted; all by default."""
  then: str = ""
  reads: str = ""
  """Name of the experiment whose results `then` reads; no cells of its own."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
  """What a command line says about experiments; with blocks, of one."""

  overrides: Sequence[Flag] = ()
  sweeps: Sequence[Flag] = ()
  only: Sequence[Flag] = ()
  seeds: str | None = None
  sample: str | None = None
  where: Sequence[str] = ()


def experiments_of(
    tree: Mapping, name: str, asked: Asked | None = None
) -> tuple[list[Experiment], list[str]]:
  """The experiments of a config with the command line's changes.

  Also a line for each mistake of shape and of the command line; what is wrong
  is left out or unknown, so that the rest can be checked.
  """
  asked = asked or Asked()
  errors: list[str] = []
  name, asked = _named(tree.get("name", name), asked, errors)
  if tree.get("blocks") is None:
    return [_experiment(tree, name, name, asked, errors)], errors
  blocks = _blocks(tree, errors)
  shares = _shared_out(asked, blocks, errors)
  experiments = []
  for key, block in blocks.items():
    told: list[str] = []
    one = _experiment(block, f"{name}/{key}", name, shares[key], told)
    experiments.append(dataclasses.replace(one, block=key))
    errors += [f"{key}: {line}" for line in told]
  return experiments, errors


def _named(name: Any, asked: Asked, errors: list[str]) -> tuple[str, Asked]:
  """The experiment's name, and the flags that do not rename it."""
  named = [flag for flag in asked.overrides if flag[0] == "name"]
  errors += twice("--config.", named)
  rest = [flag for flag in asked.overrides if flag[0] != "name"]
  name = named[-1][1] if named else name
  wrong = _no_file_name("name", name)
  errors += wrong
  return "" if wrong else name, dataclasses.replace(asked, overrides=rest)


def _no_file_name(where: str, name: Any) -> list[str]:
  """A line if results cannot be kept in a folder of that name."""
  plain = (
      isinstance(name, str)
      and 0 < len(name) <= _NAME_CHARACTERS
      and name.isprintable()
      and not name.startswith(".")
      and not set(name) & set("/\\")
  )
  return [] if plain else [
      f"{where}: expected the name of a folder, up to {_NAME_CHARACTERS}"
      f" characters without '/' and not starting with '.', got {shown(name)}"
  ]


def _blocks(tree: Mapping, errors: list[str]) -> dict[str, Mapping]:
  """The blocks that are experiments, by key."""
  errors += [
      f"{key}: a config with blocks has only name beside them"
      for key in tree
      if key not in ("name", "blocks")
  ]
  blocks = tree["blocks"]
  if not isinstance(blocks, Mapping) or not blocks:
    errors.append("blocks: expected named experiments, {name: config}")
    return {}
  for key, block in blocks.items():
    errors += _no_file_name("blocks", key)
    if not isinstance(block, Mapping):
      errors.append(
          f"blocks: expected {shown(key)} to be an experiment, got"
          f" {shown(block)}"
      )
      continue
    errors += [
        f"blocks.{key}.{word}: a block has none of its own"
        for word in ("name", "blocks")
        if word in block
    ]
  return {
      str(key): {k: v for k, v in block.items() if k not in ("name", "blocks")}
      for key, block in blocks.items()
      if isinstance(block, Mapping)
  }


def _shared_out(
    asked: Asked, blocks: Mapping, errors: list[str]
) -> dict[str, Asked]:
  """Each block's flags; their paths start with its name."""
  shares = {key: _share(asked, key) for key in blocks}
  flags = (*asked.overrides, *asked.sweeps, *asked.only)
  errors += [
      f"--where={text}: this config has blocks; say it in sweep.where of one"
      for text in asked.where
  ]
  if asked.sample is not None and not asked.sweeps:
    errors.append("--sample: no axis to draw from; see --sweep in --help")
  errors += [
      f"{path}: this config has blocks; start with one of {', '.join(blocks)},"
      f" as in {next(iter(blocks))}.{path}"
      for path, _ in flags
      if blocks and not any(path.startswith(f"{key}.") for key in blocks)
  ]
  return shares


def _share(asked: Asked, key: str) -> Asked:
  def own(flags: Sequence[Flag]) -> list[Flag]:
    return [
        (path.removeprefix(f"{key}."), text)
        for path, text in flags
        if path.startswith(f"{key}.")
    ]

  return Asked(
      overrides=own(asked.overrides),
      sweeps=own(asked.sweeps),
      only=own(asked.only),
      seeds=asked.seeds,
      sample=asked.sample if own(asked.sweeps) else None,
  )


def _experiment(
    tree: Mapping, name: str, parent: str, asked: Asked, errors: list[str]
) -> Experiment:
  then, reads = (_word(tree, key, errors) for key in ("then", "reads"))
  fields = _run_fields(tree, errors)
  said = tree.get("sweep")
  sweep = Sweep() if said is None else sweep_of(said, errors)
  override(fields, sweep, list(asked.overrides), errors)
  only = only_of(asked.only, errors)
  if not reads or asked.sweeps:
    sweep = extend(sweep, _added(asked), errors)
  search = _search(said, fields, sweep, errors)
  if reads and (fields or sweep or only):
    errors.append("reads: such a block has no fields of a run and no sweep")
  return Experiment(
      name=name,
      tree=fields,
      sweep=sweep,
      search=search,
      only=only,
      then=then,
      reads=f"{parent}/{reads}" if reads else "",
  )


def _added(asked: Asked) -> Added:
  return Added(
      axes=asked.sweeps, seeds=asked.seeds, sample=asked.sample,
      where=asked.where, overridden=[path for path, _ in asked.overrides],
  )


def _search(
    said: Any, fields: schema.Tree, sweep: Sweep, errors: list[str]
) -> Search | None:
  """What is looked for, if anything is; its protocol is `steady`."""
  tree = said.get(SEARCH) if isinstance(said, Mapping) else None
  if tree is None:
    return None
  workload = fields.setdefault("workload", {})
  if isinstance(workload, dict):
    workload.setdefault("protocol", "steady")
  return search_of(tree, sweep, errors)


def _word(tree: Mapping, key: str, errors: list[str]) -> str:
  word = tree.get(key) or ""
  if isinstance(word, str):
    return word
  errors.append(f"{key}: expected a string, got {shown(word)}")
  return ""


def _run_fields(tree: Mapping, errors: list[str]) -> schema.Tree:
  """Nested fields of a run; the sections' names are checked with ours."""
  sections = fieldtypes.hints_of(Run)
  known = (*sections, *_OWN, "blocks", REPEAT)
  rest = {key: value for key, value in tree.items() if key not in _OWN}
  nested: schema.Tree = {}
  for path, value in fields_of("config", rest, errors).items():
    section = path.partition(".")[0]
    if section in known:
      schema.put(nested, path, value)
      continue
    errors.append(fieldtypes.unknown("", section, known))
    # What was meant by it is not known either.
    if (close := nearest(section, known)) in sections:
      nested.setdefault(str(close), UNKNOWN)
  return nested
