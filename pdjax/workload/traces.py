"""Trace files: reading them, and saying what is wrong with them.

A file is read piece by piece, and of its rows only what is asked for is kept,
so its size does not matter. One with bad rows is refused as a whole, unless
bad rows are to be skipped; then they are counted.
"""

import dataclasses
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

from pdjax import inputfile
from pdjax.config import ConfigError
from pdjax.fieldtypes import shown
from pdjax.workload import formats, jsonrows
from pdjax.workload.arrivals import LIMIT_PS, LIMIT_TEXT
from pdjax.workload.columns import Columns
from pdjax.workload.formats import FORMATS, Format
from pdjax.workload.kept import Ask, Kept
from pdjax.workload.row import Row, Unusable
from pdjax.workload.textfile import TextFile

SAMPLES: dict[str, str] = {
    "azure": "azure.csv",
    "mooncake": "mooncake.jsonl",
}
"""In the package's folder `samples`, by format."""

SHOWN_ERRORS = 5
_INTEGERS = ("arrival_ns", "prompt_tokens", "output_tokens")
"""Columns of a run's `requests.parquet` that are read, besides `state`."""

_Read = Iterator[tuple[str, Callable[[], Row]]]
"""Where each row stands, and what reads it or says what is wrong."""


@dataclasses.dataclass(frozen=True)
class Trace:
  """A trace in order of time, or the part of it that was asked for."""

  columns: Columns
  source: str
  """The file's name, without its folder."""
  sha256: str
  """Of the file's bytes."""
  late_rows: int
  """Rows that stood after a row of a later time; sorted, ties in file order."""
  rows: int
  """Good rows of the whole file."""
  span_ps: int
  """Time from its earliest row to its latest."""
  bad_rows: int = 0
  """Rows with mistakes that were skipped."""
  unusable_rows: int = 0
  """Rows that are no request: recorded failures, prompts without an answer."""
  timed: bool = True
  """Whether rows say when they came."""
  texts: bool = False
  """Whether lengths may be guesses from texts."""


def read(name: str, path: str | None, ask: Ask = Ask()) -> Trace:  # noqa: B008
  """The trace at `path`, or the small sample in the package.

  Raises:
    ConfigError: no such file, or the first bad rows and how many there are.
  """
  file = _sample(name) if path is None else _existing(path)
  try:
    return _Reading(name, file, ask).trace()
  except OSError as error:
    raise ConfigError([f"workload.path={path!r}: {error.strerror}"]) from None
  except UnicodeDecodeError as error:
    raise ConfigError([f"{file}: not UTF-8 text ({error.reason})"]) from None


def _sample(name: str) -> pathlib.Path:
  if name not in SAMPLES:
    raise ConfigError([
        f"workload.path: missing; there is no sample of kind {name!r} in the"
        f" package, only of {', '.join(SAMPLES)}"
    ])
  return pathlib.Path(__file__).with_name("samples") / SAMPLES[name]


def _existing(path: str) -> pathlib.Path:
  if reason := inputfile.refusal(path):
    raise ConfigError([f"workload.path={shown(path)}: {reason}"])
  return inputfile.path_of(path)


class _Reading:
  """One pass through one file."""

  def __init__(self, name: str, file: pathlib.Path, ask: Ask):
    self._name, self._file, self._ask = name, file, ask
    self._format: Format = FORMATS[name]
    self._kept = Kept(ask, named=self._format.block_tokens > 0)
    self._text = TextFile(file)
    self._bad = self._unusable = 0
    self._errors: list[str] = []

  def trace(self) -> Trace:
    for place, row in self._rows():
      try:
        self._kept.take(row())
      except Unusable:
        self._unusable += 1
      except ValueError as error:
        self._bad += 1
        if self._bad <= SHOWN_ERRORS:
          self._errors.append(f"{place}: {error}")
    self._refuse()
    return Trace(
        columns=self._columns(),
        source=self._file.name,
        sha256=self._sha256(),
        late_rows=self._kept.late_rows,
        rows=self._kept.rows,
        span_ps=self._kept.span_ps,
        bad_rows=self._bad,
        unusable_rows=self._unusable,
        timed=self._format.timed,
        texts=self._format.texts,
    )

  def _rows(self) -> _Read:
    match self._name:
      case "requests":
        return self._parquet()
      case "sharegpt":
        return self._conversations()
      case _:
        return self._lines()

  def _lines(self) -> _Read:
    lines = self._text.lines()
    number, first = next(lines, (0, ""))
    if not number:
      self._fail("the trace is empty")
    self._refuse_other(first)
    try:
      parse = formats.parser(self._format, first)
    except ValueError as error:
      raise ConfigError([f"{self._file}:{number}: {error}"]) from None
    if self._format.names is None:
      yield f"{self._file}:{number}", lambda: parse(first)
    for number, line in lines:
      yield f"{self._file}:{number}", lambda line=line: parse(line)

  def _conversations(self) -> _Read:
    try:
      for count, item in enumerate(self._text.items(), start=1):
        yield (
            f"{self._file}: conversation {count}",
            lambda item=item: jsonrows.conversation_row(item),
        )
    except ValueError as error:
      if isinstance(error, UnicodeDecodeError):
        raise
      self._fail(str(error))

  def _parquet(self) -> _Read:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
      file = pq.ParquetFile(self._file)
      self._refuse_columns(file.schema_arrow)
      for batch in file.iter_batches(columns=[*_INTEGERS, "state"]):
        for place, fields in enumerate(batch.to_pylist(), start=1):
          yield f"{self._file}: row {place}", lambda f=fields: _served(f)
    except (pa.ArrowException, KeyError, TypeError) as error:
      line = str(error).splitlines()[0]
      self._fail(f"not the requests.parquet of a run ({line[:80]})")

  def _refuse_columns(self, schema: Any) -> None:
    """Args: schema: `pyarrow.Schema`, or any that has `names` and `field`."""
    if missing := [n for n in (*_INTEGERS, "state") if n not in schema.names]:
      self._fail(
          f"not the requests.parquet of a run: no column {', '.join(missing)}"
      )
    for name in _INTEGERS:
      if "int" not in str(schema.field(name).type):
        self._fail(
            f"not the requests.parquet of a run: column {name} is"
            f" {shown(str(schema.field(name).type))}, not whole numbers"
        )

  def _refuse_other(self, first: str) -> None:
    other = formats.guess(first)
    if other not in (None, self._name) and self._name != "jsonl":
      self._fail(
          f"not a trace of kind {self._name!r}; did you mean"
          f" workload.kind={other!r}?"
      )

  def _refuse(self) -> None:
    if self._bad and not self._ask.skip_bad:
      if self._bad > SHOWN_ERRORS:
        self._errors.append(
            f"{self._file}: {self._bad} bad rows, the first {SHOWN_ERRORS}"
            " shown"
        )
      raise ConfigError(self._errors)
    if not self._kept.rows:
      left_out = self._bad + self._unusable
      self._fail(
          f"none of the {left_out} rows is a request" if left_out
          else "the trace has a header but no row"
      )

  def _columns(self) -> Columns:
    table, ids = self._kept.sorted()
    at_ps, prompt_tokens, output_tokens, cancel_ps, deadline_ps = table
    if self._kept.span_ps > LIMIT_PS:
      self._fail(
          f"the trace lasts longer than the limit of {LIMIT_TEXT}; are its"
          " times right?"
      )
    return Columns(
        arrival_ps=at_ps - at_ps[0],
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        prefix_ids=tuple(ids),
        prefix_block_tokens=self._format.block_tokens,
        cancel_after_ps=cancel_ps,
        deadline_after_ps=deadline_ps,
    )

  def _sha256(self) -> str:
    if self._name != "requests":
      return self._text.sha256
    return inputfile.sha256_of(self._file)

  def _fail(self, reason: str):
    raise ConfigError([f"{self._file}: {reason}"])


def _served(fields: dict[str, Any]) -> Row:
  """A request of an earlier run; one without an answer is none."""
  if fields["state"] != "finished":
    raise Unusable
  if empty := [name for name in _INTEGERS if fields[name] is None]:
    raise ValueError(f"no {', '.join(empty)}")
  return Row(
      fields["arrival_ns"] * 1000, fields["prompt_tokens"],
      fields["output_tokens"],
  )
