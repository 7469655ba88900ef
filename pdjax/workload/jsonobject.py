"""A line of a trace that is a JSON object, and the values in it."""

import json
from collections.abc import Mapping
from typing import Any

from pdjax.workload.row import checked_length


def object_of(line: str) -> dict[str, Any]:
  """The fields of a line that is one JSON object.

  Raises:
    ValueError: it is none.
  """
  try:
    fields = json.loads(line)
  except (ValueError, RecursionError):
    raise ValueError(f"not JSON: {line.strip()[:40]!r}") from None
  if not isinstance(fields, dict):
    raise ValueError(f"not a JSON object: {line.strip()[:40]!r}")
  return fields


def length_of(fields: Mapping[str, Any], name: str) -> int:
  """A length in tokens that a JSON object states.

  Raises:
    ValueError: no whole number, or no possible length.
  """
  if not is_whole(fields[name]):
    raise ValueError(f"{name} is {short(fields[name])}, not a whole number")
  return checked_length(name, fields[name])


def is_whole(value: Any) -> bool:
  """Whether a value of JSON is a whole number, which true is not."""
  return isinstance(value, int) and not isinstance(value, bool)


def short(value: Any) -> str:
  """A value as a message shows it."""
  return repr(value)[:40]
