"""Rows of CSV traces: named columns in any order, others ignored.

Any format may have the columns of `pdjax.workload.row.LIMITS` besides its own.
"""

import csv
import re
from collections.abc import Callable
from typing import NamedTuple

from pdjax.workload.row import LIMITS, Row, Unusable, checked_length, limits_of

_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)


class Names(NamedTuple):
  """The columns of a format, and how it writes times."""

  time: str
  prompt: str
  output: str
  time_ps: Callable[[str, str], int]
  """From the column's name and a text to picoseconds."""
  failed_output: int | None = None
  """An output length that marks a request which failed."""


class Parser:
  """Reads the rows that follow a header.

  Raises:
    ValueError: the header lacks a column.
  """

  def __init__(self, header: str, names: Names):
    self._header = [name.strip() for name in _fields(header)]
    self._names = names
    missing = [name for name in names[:3] if name not in self._header]
    if missing:
      raise ValueError(
          f"missing column {', '.join(missing)}; the header is"
          f" {header.strip()[:80]!r}"
      )
    self._places = [self._header.index(name) for name in names[:3]]
    self._limits = {
        name: self._header.index(name)
        for name in LIMITS if name in self._header
    }

  def row(self, line: str) -> Row:
    """One row.

    Raises:
      ValueError: what is wrong with it.
      Unusable: the request failed.
    """
    fields = _fields(line)
    if len(fields) != len(self._header):
      raise ValueError(
          f"{len(fields)} fields, but the header names {len(self._header)}"
      )
    time, prompt, output = (fields[place].strip() for place in self._places)
    names = self._names
    at_ps = names.time_ps(names.time, time)
    prompt_tokens, output_tokens = (
        _whole(names.prompt, prompt), _whole(names.output, output)
    )
    if output_tokens == names.failed_output:
      raise Unusable
    return Row(
        at_ps,
        checked_length(names.prompt, prompt_tokens),
        checked_length(names.output, output_tokens),
        (),
        *limits_of({name: fields[at] for name, at in self._limits.items()}),
    )


def _whole(name: str, text: str) -> int:
  if not _WHOLE.fullmatch(text):
    raise ValueError(f"{name} {text[:40]!r} is not a whole number")
  return int(text)


def _fields(line: str) -> list[str]:
  try:
    return next(csv.reader([line]))
  except csv.Error as error:
    raise ValueError(f"not a row of CSV ({error})") from None
