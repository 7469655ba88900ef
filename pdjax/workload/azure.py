"""Rows of an Azure LLM inference trace.

CSV with the columns TIMESTAMP (ISO time, usually without a zone, up to twelve
fractional digits), ContextTokens and GeneratedTokens, in any order; other
columns are ignored. The format is that of the Azure public data set; see
"Splitwise", Patel et al., ISCA 2024.
"""

import csv
import datetime
import re

from pdjax.workload.arrivals import PS_PER_S
from pdjax.workload.row import Row, checked_length

COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")

_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:\.(\d{1,12}))?(Z|[+-]\d\d:\d\d)?",
    re.ASCII,
)
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)


class Parser:
  """Reads the rows that follow a header.

  Raises:
    ValueError: the header lacks a column.
  """

  def __init__(self, header: str):
    self._names = [name.strip() for name in _fields(header)]
    missing = [name for name in COLUMNS if name not in self._names]
    if missing:
      raise ValueError(
          f"missing column {', '.join(missing)}; the header is"
          f" {header.strip()[:80]!r}"
      )
    self._places = [self._names.index(name) for name in COLUMNS]

  def row(self, line: str) -> Row:
    """One row.

    Raises:
      ValueError: what is wrong with it.
    """
    fields = _fields(line)
    if len(fields) != len(self._names):
      raise ValueError(
          f"{len(fields)} fields, but the header names {len(self._names)}"
      )
    time, prompt, output = (fields[place].strip() for place in self._places)
    return Row(
        time_ps(time), _tokens(COLUMNS[1], prompt), _tokens(COLUMNS[2], output)
    )


def time_ps(text: str) -> int:
  """Picoseconds since 1970; a time without a zone counts as UTC.

  >>> time_ps("1970-01-01 00:00:01.0000005")
  1000000500000

  Raises:
    ValueError: not such a time.
  """
  match = _TIME.fullmatch(text)
  try:
    if not match:
      raise ValueError
    moment = datetime.datetime.fromisoformat(match[1] + (match[3] or "Z"))
  except ValueError:
    raise ValueError(
        f"TIMESTAMP {text[:40]!r} is not a time such as"
        " '2024-01-31 18:15:46.6805900'"
    ) from None
  fraction_ps = int((match[2] or "").ljust(12, "0"))
  return int(moment.timestamp()) * PS_PER_S + fraction_ps


def _tokens(name: str, text: str) -> int:
  if not _WHOLE.fullmatch(text):
    raise ValueError(f"{name} {text[:40]!r} is not a whole number")
  return checked_length(name, int(text))


def _fields(line: str) -> list[str]:
  try:
    return next(csv.reader([line]))
  except csv.Error as error:
    raise ValueError(f"not a row of CSV ({error})") from None
