"""Command-line text read as the type of the field it is for.

`0.25`, `none`, `true`, `128,256`, `(1, 2)`, `'a string'`, `{'P': 2}`. Strings
need no quotes, unless they are empty or the word none; quotes and brackets
hold commas together.
"""

import ast
import typing
from typing import Any

from pdjax import fieldtypes, schema
from pdjax.config import ConfigError
from pdjax.unknown import UNKNOWN

_NONE_WORDS = ("none", "null")


def read(path: str, text: str, hint: Any = None) -> Any:
  """The value that a command line's text stands for, of whatever type.

  `hint` is the type of what is no field of a run.

  Raises:
    ConfigError: no such field, or no value.
  """
  hint = hint or schema.hint_of(path)
  if not text.strip():
    raise ConfigError([
        f"{path}: needs a value; `none` says nothing, '' is an empty string"
    ])
  return _read(hint, text)


def from_text(path: str, text: str, hint: Any = None) -> Any:
  """A command line's value as the type of field `path` reads it.

  Raises:
    ConfigError: no such field, no value, or one of a wrong type.
  """
  hint = hint or schema.hint_of(path)
  errors: list[str] = []
  value = read(path, text, hint)
  fieldtypes.convert(hint, value, path, errors)
  if errors:
    raise ConfigError(errors)
  return value


def unsays(path: str, text: str) -> bool:
  """Whether `none` is given for a field or section that cannot be none."""
  members = fieldtypes.members_of(schema.hint_of(path))
  return type(None) not in members and text.strip().lower() in _NONE_WORDS


def list_from_text(
    path: str, text: str, errors: list[str], hint: Any = None
) -> tuple[Any, ...]:
  """Comma-separated values of one field; brackets and quotes hold together.

  Adds a line to `errors` for each that is wrong, which is unknown then.

  >>> list_from_text("strategy.chunk_size", "128,256,none", [])
  (128, 256, None)

  Raises:
    ConfigError: no such field.
  """
  hint = hint or schema.hint_of(path)
  values = []
  for part in parts(text):
    try:
      values.append(from_text(path, part, hint))
    except ConfigError as error:
      errors += error.errors
      values.append(UNKNOWN)
  return tuple(values)


def _read(hint: Any, text: str) -> Any:
  """The Python value that a command line's text stands for."""
  text = text.strip()
  members = fieldtypes.members_of(hint)
  if type(None) in members and text.lower() in _NONE_WORDS:
    return None
  kinds = [m for m in members if m is not type(None)]
  if all(_is_textual(kind) for kind in kinds):
    return _unquoted(text)
  item = _tuple_item(kinds)
  if item is not None and not text.startswith(("(", "[")):
    return tuple(_read(item, part) for part in parts(text))
  return _evaluated(text)


def _is_textual(hint: Any) -> bool:
  values = typing.get_args(hint) if typing.get_origin(hint) else ()
  literal = typing.get_origin(hint) is typing.Literal
  return hint is str or (literal and all(isinstance(v, str) for v in values))


def _tuple_item(kinds: list[Any]) -> Any:
  """The item type of `tuple[item, ...]` when items are scalars."""
  for kind in kinds:
    if typing.get_origin(kind) is tuple:
      item, last = typing.get_args(kind)[0], typing.get_args(kind)[-1]
      return item if last is Ellipsis and item in fieldtypes.SCALARS else None
  return None


def _evaluated(text: str) -> Any:
  if text.lower() in ("true", "false"):
    return text.lower() == "true"
  try:
    return ast.literal_eval(text)
  except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
    return text


def _unquoted(text: str) -> str:
  quoted = len(text) >= 2 and text[0] == text[-1] and text[0] in "'\""
  return text[1:-1] if quoted else text


def parts(text: str) -> list[str]:
  """What is between the commas that are outside brackets and quotes."""
  found, depth, quote, start = [], 0, "", 0
  for index, char in enumerate(text):
    if quote:
      quote = "" if char == quote else quote
    elif char in "'\"":
      quote = char
    elif char in "([{":
      depth += 1
    elif char in ")]}":
      depth -= 1
    elif char == "," and not depth:
      found.append(text[start:index])
      start = index + 1
  found.append(text[start:])
  return [part.strip() for part in found]
