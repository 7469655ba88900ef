"""From a config file's nested dict to `config.Run`, and back.

The dataclasses of `pdjax.config` are the schema; nothing about single fields
is written down here. A field is named by its dotted path, for instance
`strategy.chunk_size`. Every mistake becomes one line with the path, what is
allowed and, for a name, the nearest one; all of them are reported together.

What a value means (ranges, and which fields a strategy reads) is the business
of `pdjax.checks`.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from pdjax.config import ConfigError, Run
from pdjax.fieldtypes import (
    convert,
    dict_value_of,
    hints_of,
    section_of,
    unknown,
)

Tree = dict[str, Any]
"""A config as nested plain dicts; absent means default."""


def read(tree: Mapping) -> tuple[Run, list[str]]:
  """The run that a nested dict describes, and a line for each mistake.

  A field with a mistake keeps its default, so that the others can be checked.
  """
  errors: list[str] = []
  run = convert(Run, tree, "", errors)
  return run, errors


def run_from_tree(tree: Mapping) -> Run:
  """The run that a nested dict describes; types are checked, ranges are not.

  Raises:
    ConfigError: unknown fields and values of a wrong type, one line each.
  """
  run, errors = read(tree)
  if errors:
    raise ConfigError(errors)
  return run


def tree_of(run: Run) -> Tree:
  """A run as plain JSON values; `run_from_tree` inverts it."""
  return _plain(dataclasses.asdict(run))


def _plain(value: Any) -> Any:
  if isinstance(value, Mapping):
    return {key: _plain(item) for key, item in value.items()}
  if isinstance(value, (tuple, list)):
    return [_plain(item) for item in value]
  return value


def flat(tree: Mapping, prefix: str = "") -> dict[str, Any]:
  """A nested dict by dotted path.

  >>> flat({"strategy": {"kind": "chunked"}, "model": {"seed": 3}})
  {'strategy.kind': 'chunked', 'model.seed': 3}
  """
  result = {}
  for key, value in tree.items():
    if isinstance(value, Mapping):
      result.update(flat(value, f"{prefix}{key}."))
    else:
      result[f"{prefix}{key}"] = value
  return result


def put(tree: Tree, path: str, value: Any) -> None:
  """Sets a dotted path, making the sections on the way."""
  *sections, last = path.split(".")
  for section in sections:
    if not isinstance(tree.get(section), dict):
      tree[section] = {}
    tree = tree[section]
  tree[last] = value


def leaves(tree: Mapping, prefix: str = "") -> dict[str, Any]:
  """What a partial config says, by field; dotted keys may be mixed in.

  Unlike `flat` it stops at fields whose value is itself a dict.

  Raises:
    ConfigError: unknown fields, one line each.
  """
  result: dict[str, Any] = {}
  errors: list[str] = []
  for key, value in tree.items():
    path = f"{prefix}{key}"
    try:
      section = section_of(hint_of(path))
      if isinstance(value, Mapping) and section:
        result.update(leaves(value, path + "."))
      else:
        result[path] = value
    except ConfigError as error:
      errors += error.errors
  if errors:
    raise ConfigError(errors)
  return result


def hint_of(path: str) -> Any:
  """The type of a field.

  Raises:
    ConfigError: there is no such field.
  """
  hint: Any = Run
  walked = ""
  for name in path.split("."):
    section = section_of(hint)
    if section:
      hints = hints_of(section)
      if name not in hints:
        raise ConfigError([unknown(walked, name, hints)])
      hint = hints[name]
    elif value_type := dict_value_of(hint):
      hint = value_type
    else:
      raise ConfigError([f"{path}: {walked[:-1]} has no fields of its own"])
    walked += name + "."
  return hint


def said(tree: Any, prefix: str = "") -> list[str]:
  """The fields a config gives a value; items of tuples share a path."""
  if tree is None:
    return []
  if isinstance(tree, Mapping):
    dot = prefix + "." if prefix else ""
    parts = [said(value, dot + str(key)) for key, value in tree.items()]
  elif isinstance(tree, (tuple, list)):
    parts = [said(item, prefix) for item in tree if isinstance(item, Mapping)]
    parts = parts or [[prefix]]  # a tuple of plain values is one value
  else:
    parts = [[prefix]]
  return list(dict.fromkeys(path for part in parts for path in part))


def drop(tree: Any, path: str) -> None:
  """Takes a field out of a config, out of every item of a tuple too."""
  name, _, rest = path.partition(".")
  if isinstance(tree, (tuple, list)):
    for item in tree:
      drop(item, path)
  elif isinstance(tree, dict):
    if rest:
      drop(tree.get(name), rest)
    else:
      tree.pop(name, None)
