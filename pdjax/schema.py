"""From a config file's nested dict to `config.Run`, and back.

The dataclasses of `pdjax.config` are the schema; nothing about single fields
is written down here. A field is named by its dotted path, for instance
`strategy.chunk_size`. Every mistake becomes one line with the path, what is
allowed and, for a name, the nearest one; all of them are reported together.

What a value means (ranges, and which fields a strategy reads) is the business
of `pdjax.checks`.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from pdjax.config import ConfigError, Run
from pdjax.fieldtypes import (
    convert,
    dict_value_of,
    hints_of,
    section_of,
    unknown,
)
from pdjax.unknown import look

Tree = dict[str, Any]
"""A config as nested plain dicts; absent means default."""


def read(tree: Mapping) -> tuple[Run, list[str]]:
  """The run that a nested dict describes, and a line for each mistake.

  A field with a mistake is `UNKNOWN`, so that all that does not depend on it
  can be checked.
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


def copied(tree: Any) -> Any:
  """A config whose dicts are its own; the values in them are the same."""
  if isinstance(tree, Mapping):
    return {key: copied(value) for key, value in tree.items()}
  if isinstance(tree, (tuple, list)):
    return tuple(map(copied, tree))
  return tree


def value_at(run: Run, path: str) -> Any:
  """What a run has for a field; None below a field that has no fields."""
  value: Any = run
  for name in path.split("."):
    look(value)
    if isinstance(value, dict):
      value = value.get(name)
    else:
      value = getattr(value, name, None)
  return value


def overlap(one: str, other: str) -> bool:
  """Whether two paths name the same field, or one a part of the other."""
  return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def leaves(tree: Mapping, prefix: str = "") -> Iterator[tuple[str, Any]]:
  """What a partial config says, by field; dotted keys may be mixed in.

  Unlike `flat` it stops at fields whose value is itself a dict, and at what is
  no field at all.
  """
  for key, value in tree.items():
    path = f"{prefix}{key}"
    if isinstance(value, Mapping) and _is_section(path):
      yield from leaves(value, path + ".")
    else:
      yield path, value


def _is_section(path: str) -> bool:
  return exists(path) and section_of(hint_of(path)) is not None


def exists(path: str) -> bool:
  """Whether there is such a field."""
  try:
    hint_of(path)
  except ConfigError:
    return False
  return True


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


def holder(path: str) -> str:
  """The path, or the field without fields of its own that it runs into."""
  names = path.split(".")
  for end in range(1, len(names)):
    head = ".".join(names[:end])
    if exists(head) and not _is_section(head) and not dict_value_of(
        hint_of(head)
    ):
      return head
  return path


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
