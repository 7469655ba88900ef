"""Trace files: reading them, and saying what is wrong with them.

Text is UTF-8; a byte order mark, any kind of line end, blank lines and a
missing last line end are tolerated. A file with bad rows is refused as a whole.
"""

import dataclasses
import hashlib
import itertools
import operator
import pathlib
from collections.abc import Callable
from typing import Literal

import numpy as np

from pdjax import inputfile
from pdjax.config import ConfigError
from pdjax.fieldtypes import shown
from pdjax.workload import azure, mooncake
from pdjax.workload.arrivals import LIMIT_PS, LIMIT_TEXT
from pdjax.workload.columns import Columns
from pdjax.workload.row import Row

Format = Literal["azure", "mooncake"]

SAMPLES: dict[Format, str] = {
    "azure": "azure.csv",
    "mooncake": "mooncake.jsonl",
}
"""In the package's folder `samples`, by format."""

SHOWN_ERRORS = 5

_OPENINGS: dict[Format, str] = {"azure": "TIMESTAMP", "mooncake": "{"}
"""How a file of each format begins."""


@dataclasses.dataclass(frozen=True)
class Trace:
  """A whole trace in order of time."""

  columns: Columns
  source: str
  """The file's name, without its folder."""
  sha256: str
  """Of the file's bytes."""
  late_rows: int
  """Rows that stood after a row of a later time; sorted, ties in file order."""


def read(format: Format, path: str | None) -> Trace:
  """The trace at `path`, or the small sample in the package.

  Raises:
    ConfigError: no such file, or the first bad rows and how many there are.
  """
  file = _sample(format) if path is None else _existing(path)
  try:
    content = file.read_bytes()
    text = content.decode("utf-8-sig")
  except OSError as error:
    raise ConfigError([f"workload.path={path!r}: {error.strerror}"]) from None
  except UnicodeDecodeError as error:
    raise ConfigError([f"{file}: not UTF-8 text ({error.reason})"]) from None
  rows = _rows(format, file, text)
  return Trace(
      columns=_columns(format, file, rows),
      source=file.name,
      sha256=hashlib.sha256(content).hexdigest(),
      late_rows=_late_rows(rows),
  )


def _sample(format: Format) -> pathlib.Path:
  return pathlib.Path(__file__).with_name("samples") / SAMPLES[format]


def _existing(path: str) -> pathlib.Path:
  if reason := inputfile.refusal(path):
    raise ConfigError([f"workload.path={shown(path)}: {reason}"])
  return inputfile.path_of(path)


def _rows(format: Format, file: pathlib.Path, text: str) -> list[Row]:
  lines = [
      (number, line)
      for number, line in enumerate(_lines(text), start=1)
      if line.strip()
  ]
  if not lines:
    raise ConfigError([f"{file}: the trace is empty"])
  _refuse_other(format, file, lines[0][1])
  parse = _parser(format, file, lines)
  rows, errors = [], []
  for number, line in lines:
    try:
      rows.append(parse(line))
    except ValueError as error:
      errors.append(f"{file}:{number}: {error}")
  _refuse(file, errors)
  if not rows:
    raise ConfigError([f"{file}: the trace has a header but no row"])
  return rows


def _refuse_other(format: Format, file: pathlib.Path, first: str) -> None:
  for other, opening in _OPENINGS.items():
    if other != format and first.lstrip().startswith(opening):
      raise ConfigError([
          f"{file}: not a trace of kind {format!r}; did you mean"
          f" workload.kind={other!r}?"
      ])


def _lines(text: str) -> list[str]:
  # Not splitlines(), which also splits at separators that JSON may hold.
  return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _parser(
    format: Format, file: pathlib.Path, lines: list[tuple[int, str]]
) -> Callable[[str], Row]:
  """The format's parser; takes a header off `lines`."""
  if format == "mooncake":
    return mooncake.Parser().row
  number, header = lines.pop(0)
  try:
    return azure.Parser(header).row
  except ValueError as error:
    raise ConfigError([f"{file}:{number}: {error}"]) from None


def _refuse(file: pathlib.Path, errors: list[str]) -> None:
  if not errors:
    return
  shown = errors[:SHOWN_ERRORS]
  if len(errors) > SHOWN_ERRORS:
    count = len(errors)
    shown.append(f"{file}: {count} bad rows, the first {SHOWN_ERRORS} shown")
  raise ConfigError(shown)


def _columns(format: Format, file: pathlib.Path, rows: list[Row]) -> Columns:
  rows = sorted(rows, key=lambda row: row.at_ps)
  start_ps = rows[0].at_ps
  if rows[-1].at_ps - start_ps > LIMIT_PS:
    raise ConfigError([
        f"{file}: the trace lasts longer than the limit of {LIMIT_TEXT}; are"
        " its times right?"
    ])
  named = format == "mooncake"
  return Columns(
      arrival_ps=_int64([row.at_ps - start_ps for row in rows]),
      prompt_tokens=_int64([row.prompt_tokens for row in rows]),
      output_tokens=_int64([row.output_tokens for row in rows]),
      prefix_ids=tuple(row.prefix_ids for row in rows) if named else (),
      prefix_block_tokens=mooncake.BLOCK_TOKENS if named else 0,
  )


def _late_rows(rows: list[Row]) -> int:
  times_ps = [row.at_ps for row in rows]
  latest_ps = itertools.accumulate(times_ps, max)
  return sum(map(operator.lt, times_ps, latest_ps))


def _int64(values: list[int]) -> np.ndarray:
  return np.array(values, dtype=np.int64)
