"""The parquet form of a log: one table, one row an entry, and back exactly.

It stores what `pdjax.events` defines and nothing derived from it. Each entry
fills the columns of its fields (`pdjax.eventcolumns`) and leaves the others
null. A block of the log is a row group of the file.
"""

import dataclasses
import os
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pdjax import events as ev
from pdjax.eventcolumns import (
  Block,
  Column,
  Ragged,
  Table,
  entries_of,
  spread_of,
)

INT, INTS = pa.int64(), pa.list_(pa.int64())
WORD = pa.dictionary(pa.int32(), pa.string())

SCHEMA = pa.schema(
    [
        pa.field("written_ps", INT, nullable=False),
        pa.field("kind", WORD, nullable=False),
        *(
            pa.field(name, INT)
            for name in (
                "at_ps", "asked_ps", "started_ps", "request", "worker", "lane",
                "run", "steps", "repeats", "transfer", "source", "target",
                "pages", "first_page", "end_page", "group_layers",
                "moved_bytes", "arrival_ps", "prompt_tokens", "max_tokens",
                "prefix_block_tokens", "deadline_ps", "session",
                "cached_tokens", "spared_tokens", "host_tokens",
            )
        ),
        *(
            pa.field(name, INTS)
            for name in (
                "prefix_ids", "segment_steps", "segment_first_ps",
                "segment_slope_ps", "finished_request", "finished_tokens",
                "prefill_request", "prefill_tokens", "decode",
            )
        ),
        *(
            pa.field(name, WORD)
            for name in (
                "stage", "failure", "fault", "resource", "reason", "role",
            )
        ),
    ],
    metadata={"pdjax.events": str(ev.FORMAT_VERSION)},
)
"""Columns of an event file; the metadata names the format's version."""


class EventFileError(ValueError):
  """A file that is not a log of this format."""


def write_log(log: ev.Log, path: str | os.PathLike) -> None:
  """Writes a log to a parquet file, replacing what was there."""
  with pq.ParquetWriter(
      path, SCHEMA, compression="zstd", write_page_checksum=True
  ) as writer:
    for block in log.blocks:
      writer.write_table(_table(block))


def read_log(path: str | os.PathLike) -> ev.Log:
  """Reads the log that `write_log` wrote; equal entry by entry.

  Raises:
    EventFileError: not an event file, damaged, or of another format version.
  """
  try:
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
      groups = range(file.num_row_groups)
      tables = [file.schema_arrow.empty_table()]
      tables += [file.read_row_group(group) for group in groups]
  except (pa.ArrowException, OSError) as error:
    raise EventFileError(f"{path}: not a readable event file") from error
  version = (tables[0].schema.metadata or {}).get(b"pdjax.events", b"").decode()
  if version != str(ev.FORMAT_VERSION):
    raise EventFileError(
        f"{path}: written by another pdjax, in event format"
        f" {version or 'unknown'}, and this one reads {ev.FORMAT_VERSION}; make"
        " its runs again"
    )
  try:
    return from_tables(tables)
  except (EventFileError, ValueError) as error:
    raise EventFileError(f"{path}: {error}") from error


def to_table(log: ev.Log) -> pa.Table:
  """A log as one table in the log's order."""
  tables = [SCHEMA.empty_table(), *map(_table, log.blocks)]
  return pa.concat_tables(tables).unify_dictionaries()


def _table(block: Block) -> pa.Table:
  """One row an entry."""
  size = len(block.times_ps)
  kinds = [*block.tables]
  code = np.zeros(size, np.int32)
  for number, kind in enumerate(kinds):
    code[block.tables[kind].place] = number
  names = pa.array([kind.__name__ for kind in kinds], pa.string())
  arrays = {
      "written_ps": pa.array(block.times_ps),
      "kind": pa.DictionaryArray.from_arrays(pa.array(code), names),
  }
  for name in SCHEMA.names[2:]:
    parts = [
        (place, columns[name])
        for place, columns in block.tables.values()
        if name in columns
    ]
    arrays[name] = _array(SCHEMA.field(name).type, size, parts)
  return pa.Table.from_pydict(arrays, schema=SCHEMA)


def _array(
    kind: pa.DataType, size: int, parts: list[tuple[np.ndarray, Column]]
) -> pa.Array:
  """A column of all rows, null but for the rows of its parts."""
  if not parts:
    return pa.nulls(size, kind)
  objects = kind == WORD
  null = np.ones(size, bool)
  plain: list[tuple[np.ndarray, np.ndarray]] = []
  for place, part in parts:
    null[place] = False
    if isinstance(part, Ragged):
      return _lists(place, part, null)  # Only one kind has it.
    plain.append((place, part))
    objects = objects or part.dtype == object
  full = np.full(size, None) if objects else np.zeros(size, np.int64)
  for place, part in plain:
    full[place] = part
  if kind == WORD:
    return pa.array(full, pa.string()).dictionary_encode()
  return pa.array(full, kind, mask=None if objects else null)


def _lists(place: np.ndarray, lists: Ragged, null: np.ndarray) -> pa.Array:
  ends = np.zeros(len(null) + 1, np.int32)
  ends[place + 1] = lists.lengths
  return pa.ListArray.from_arrays(
      pa.array(np.cumsum(ends, dtype=np.int32)), pa.array(lists.flat),
      mask=pa.array(null),
  )


def from_tables(tables: Iterable[pa.Table]) -> ev.Log:
  """The log of tables like those `to_table` makes, one after another.

  Raises:
    EventFileError: a column is not of the format, or a row lacks a field.
    ValueError: a row is no request that could be.
  """
  blocks = []
  for table in tables:
    if not table.schema.equals(SCHEMA):
      raise EventFileError("its columns are not those of an event file")
    if len(table):
      blocks.append(_block(table))
  return ev.Log(blocks)


def _block(table: pa.Table) -> Block:
  kinds = table["kind"].unify_dictionaries().combine_chunks()
  code = kinds.indices.to_numpy()
  named = {kind.__name__: kind for kind in ev.ENTRIES}
  tables = {}
  for number, name in enumerate(kinds.dictionary.to_pylist()):
    place = np.flatnonzero(code == number)
    if not len(place):
      continue
    if name not in named:
      raise EventFileError(f"no entry is called {name!r}")
    kind = named[name]
    tables[kind] = Table(place, dict(_columns(kind, table, pa.array(place))))
  if ev.Arrived in tables:
    for _ in entries_of(ev.Arrived, tables[ev.Arrived].columns):
      pass  # Making a request checks it.
  return Block(table["written_ps"].to_numpy(), tables)


def _columns(
    kind: type, table: pa.Table, place: pa.Array
) -> Iterator[tuple[str, Column]]:
  """The columns of the fields of one kind."""
  for field in dataclasses.fields(kind):
    spread = spread_of(kind, field)
    for name in spread.columns:
      column = table[name].take(place).combine_chunks()
      if column.null_count and name not in spread.nullable:
        raise EventFileError(f"{kind.__name__} without {name}")
      if pa.types.is_list(column.type):
        lengths = column.value_lengths().to_numpy().astype(np.int64)
        yield name, Ragged(lengths, column.flatten().to_numpy())
      elif name in spread.nullable or column.type == WORD:
        yield name, np.array(column.to_pylist(), object)
      else:
        yield name, column.to_numpy()
