"""What a field's type admits: values checked and converted, and the words.

A type is one of those `pdjax.config` uses: int, float, str, bool, Literal,
`T | None` and other unions, `tuple[T, ...]`, `dict[str, T]`, dataclass. No
knowledge of single fields is here. Mistakes are appended to a list of lines,
so that one pass finds all of them; what was said wrongly is `UNKNOWN`.
"""

import dataclasses
import difflib
import functools
import math
import numbers
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pdjax.unknown import UNKNOWN, Withheld, known

_SHOWN_CHARACTERS = 80


def shown(value: Any) -> str:
  """A value as a message has it: in one line, and not all of a long one."""
  if value is None:
    return "none"
  try:
    text = repr(value)
  except (Exception, Withheld):  # an odd object, an integer of 5000 digits
    text = f"a {type(value).__name__} that cannot be shown"
  text = " ".join(text.split())
  longer = len(text) > _SHOWN_CHARACTERS
  return f"{text[:_SHOWN_CHARACTERS]}..." if longer else text


def near(name: str, known: Iterable[str]) -> str:
  """`; did you mean 'x'?`, or nothing when no known name is near."""
  match = nearest(name, known)
  return f"; did you mean {match!r}?" if match else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
  """The known name that is most like `name`, if one is at all."""
  return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


@functools.cache
def hints_of(section: type) -> dict[str, Any]:
  return typing.get_type_hints(section)


def members_of(hint: Any) -> tuple[Any, ...]:
  """The alternatives of a union; a plain type is its only one."""
  if typing.get_origin(hint) in (typing.Union, types.UnionType):
    return typing.get_args(hint)
  return (hint,)


def section_of(hint: Any) -> type | None:
  for member in members_of(hint):
    if dataclasses.is_dataclass(member):
      return typing.cast(type, member)
  return None


def dict_value_of(hint: Any) -> Any:
  for member in members_of(hint):
    if typing.get_origin(member) is dict:
      return typing.get_args(member)[1]
  return None


def _describe(hint: Any) -> str:
  """What is allowed, in words."""
  members = members_of(hint)
  if len(members) > 1:
    return " or ".join(_describe(member) for member in members)
  origin, arguments = typing.get_origin(hint), typing.get_args(hint)
  if origin is typing.Literal:
    return "one of " + ", ".join(map(str, arguments))
  if origin is tuple:
    return f"a tuple such as {_example(arguments)}"
  if dataclasses.is_dataclass(hint):
    return "a section with " + ", ".join(hints_of(typing.cast(type, hint)))
  return {
      int: "an integer",
      float: "a number",
      bool: "true or false",
      str: "a string",
      dict: "a dict",
      type(None): "none",
  }[origin or hint]


def _example(arguments: tuple) -> str:
  sample = {int: "128", float: "0.5", str: "'ttft'"}
  if arguments[-1] is Ellipsis:
    item = sample.get(arguments[0])
    return f"({item}, ...)" if item else "({...}, ...)"
  return "(" + ", ".join(sample[argument] for argument in arguments) + ")"


def convert(hint: Any, value: Any, path: str, errors: list[str]) -> Any:
  """`value` as `hint`; what is wrong with it goes to `errors`.

  What is wrong comes back as `UNKNOWN`, the whole of it or the part.
  """
  if not known(value):
    return UNKNOWN
  members = members_of(hint)
  if len(members) > 1:
    return _convert_union(hint, value, path, errors)
  if dataclasses.is_dataclass(hint):
    return _convert_section(typing.cast(type, hint), value, path, errors)
  match typing.get_origin(hint):
    case typing.Literal:
      return _convert_choice(hint, value, path, errors)
    case origin if origin is tuple:
      return _convert_tuple(hint, value, path, errors)
    case origin if origin is dict:
      return _convert_dict(hint, value, path, errors)
  return _convert_scalar(hint, value, path, errors)


def _convert_union(hint: Any, value: Any, path: str, errors: list[str]) -> Any:
  if value is None and type(None) in members_of(hint):
    return None
  members = [m for m in members_of(hint) if m is not type(None)]
  members.sort(key=lambda member: member is not type(value))
  tried: list[str] = []
  converted = UNKNOWN
  for member in members:
    tried = []
    converted = convert(member, value, path, tried)
    if not tried:
      return converted
  if len(members) == 1 and isinstance(value, Mapping | tuple | list):
    errors += tried  # They name the item that is wrong.
    return converted
  errors.append(_wrong(hint, value, path))
  return UNKNOWN


def _convert_section(
    section: type, value: Any, path: str, errors: list[str]
) -> Any:
  if not isinstance(value, Mapping):
    errors.append(_wrong(section, value, path or "config"))
    return UNKNOWN
  prefix = path + "." if path else ""
  hints = hints_of(section)
  made = {}
  for name, item in value.items():
    if name in hints:
      made[name] = convert(hints[name], item, prefix + name, errors)
    else:
      errors.append(unknown(prefix, str(name), hints))
      # What was meant by it is not known either.
      made.setdefault(nearest(str(name), set(hints) - set(value)), UNKNOWN)
  made.pop(None, None)
  for name in sorted(_required(section) - made.keys()):
    errors.append(f"{prefix}{name}: missing")
    made[name] = UNKNOWN
  return section(**made)


def _required(section: type) -> set[str]:
  missing = dataclasses.MISSING
  return {
      field.name
      for field in dataclasses.fields(section)
      if field.default is missing and field.default_factory is missing
  }


def _convert_choice(
    hint: Any, value: Any, path: str, errors: list[str]
) -> Any:
  for allowed in typing.get_args(hint):
    if type(value) is type(allowed) and value == allowed:
      return value
  errors.append(_wrong(hint, value, path))
  return UNKNOWN


def _convert_tuple(hint: Any, value: Any, path: str, errors: list[str]) -> Any:
  if not isinstance(value, (tuple, list)):
    errors.append(_wrong(hint, value, path))
    return UNKNOWN
  arguments = typing.get_args(hint)
  if arguments[-1] is Ellipsis:
    arguments = (arguments[0],) * len(value)
  if len(arguments) != len(value):
    errors.append(_wrong(hint, value, path))
    return UNKNOWN
  return tuple(
      convert(argument, item, f"{path}[{index}]", errors)
      for index, (argument, item) in enumerate(
          zip(arguments, value, strict=True)
      )
  )


def _convert_dict(hint: Any, value: Any, path: str, errors: list[str]) -> Any:
  if not isinstance(value, Mapping):
    errors.append(_wrong(hint, value, path))
    return UNKNOWN
  value_hint = typing.get_args(hint)[1]
  return {
      str(key): convert(value_hint, item, f"{path}.{key}", errors)
      for key, item in value.items()
  }


def _is_integer(value: Any) -> bool:
  return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
  if not isinstance(value, numbers.Real) or isinstance(value, bool):
    return False
  try:
    return math.isfinite(value)
  except OverflowError:  # an integer beyond all floats
    return False


SCALARS: dict[type, Callable[[Any], bool]] = {
    int: _is_integer,
    float: _is_number,
    bool: lambda value: isinstance(value, bool),
    str: lambda value: isinstance(value, str),
}


def _convert_scalar(
    hint: Any, value: Any, path: str, errors: list[str]
) -> Any:
  if SCALARS[hint](value):
    return hint(value)
  errors.append(_wrong(hint, value, path))
  return UNKNOWN


def _wrong(hint: Any, value: Any, path: str) -> str:
  names = [
      str(choice)
      for member in members_of(hint)
      if typing.get_origin(member) is typing.Literal
      for choice in typing.get_args(member)
  ]
  wanted = near(value, names) if isinstance(value, str) else ""
  return f"{path}: expected {_describe(hint)}, got {shown(value)}{wanted}"


def unknown(prefix: str, name: str, known: Iterable[str]) -> str:
  """The line for a field that does not exist."""
  known = tuple(known)
  wanted = near(name, known) or "; allowed: " + ", ".join(known)
  written = name if name.isidentifier() else shown(name)
  return f"{prefix}{written}: no such field{wanted}"
