"""Choosing some of a sweep's cells: `--only='cluster.split=2P2D'`.

A cell is chosen if it has one of the values of every field named; `case` is
the name of a case.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar

from pdjax import literals
from pdjax.config import ConfigError
from pdjax.fieldtypes import near, shown
from pdjax.unknown import Withheld

Only = Sequence[tuple[str, tuple]]
"""Fields, each with the values that are wanted."""


class Valued(Protocol):
  """Something with a value for each field."""

  def value(self, path: str) -> Any: ...


Chosen = TypeVar("Chosen", bound=Valued)


def only_of(flags: Iterable[tuple[str, str]], errors: list[str]) -> Only:
  """The flags' values; those of one field given twice are alternatives."""
  wanted: dict[str, tuple] = {}
  for path, text in flags:
    wrong: list[str] = []
    values = _values(path, text, wrong)
    if wrong:
      errors += [f"--only: {line}" for line in wrong]
    else:
      wanted[path] = wanted.get(path, ()) + values
  return tuple(wanted.items())


def _values(path: str, text: str, wrong: list[str]) -> tuple:
  if path == "case":
    return (text,)
  try:
    hint = int if path == "repeat" else None
    return literals.list_from_text(path, text, wrong, hint)
  except ConfigError as error:
    wrong += error.errors
    return ()


def select(
    cells: Sequence[Chosen], only: Only
) -> tuple[list[Chosen], list[str]]:
  """The cells that have the values, and a line for each value that none has."""
  errors = [
      _missing(cells, path, value)
      for path, values in only
      for value in values
      if not any(_has(cell, path, (value,)) for cell in cells)
  ]
  chosen = [
      cell
      for cell in cells
      if all(_has(cell, path, values) for path, values in only)
  ]
  if not chosen and not errors:
    errors.append("--only: no cell has all of these values together")
  return chosen, errors


def _has(cell: Valued, path: str, values: tuple) -> bool:
  try:
    return cell.value(path) in values
  except Withheld:
    return False


def _missing(cells: Iterable[Valued], path: str, value: Any) -> str:
  told = dict.fromkeys(_shown(cell, path) for cell in cells)
  there = list(filter(None, told))
  if not there:
    return f"--only={path}={value}: this config has no {path}s"
  wanted = near(str(value), there)
  return (
      f"--only={path}={value}: no cell has it; there are {', '.join(there)}"
      f"{wanted}"
  )


def _shown(cell: Valued, path: str) -> str:
  try:
    value = cell.value(path)
    return value if isinstance(value, str) else shown(value)
  except Withheld:
    return "what is not known"
