"""The parquet form of a log: one table, one row an entry, and back exactly.

It stores what `pdjax.events` defines and nothing derived from it. Each entry
fills the columns of its fields (`pdjax.eventcolumns`) and leaves the others
null.
"""

import dataclasses
import os
import typing
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pdjax import events as ev
from pdjax.eventcolumns import INT, SCHEMA, SPREAD, WORD


class EventFileError(ValueError):
  """A file that is not a log of this format."""


def write_log(log: ev.Log, path: str | os.PathLike) -> None:
  """Writes a log to a parquet file, replacing what was there."""
  table = to_table(log)
  pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def read_log(path: str | os.PathLike) -> ev.Log:
  """Reads the log that `write_log` wrote; equal entry by entry.

  Raises:
    EventFileError: not an event file, damaged, or of another format version.
  """
  try:
    table = pq.read_table(path, page_checksum_verification=True)
  except (pa.ArrowException, OSError) as error:
    raise EventFileError(f"{path}: not a readable event file") from error
  version = (table.schema.metadata or {}).get(b"pdjax.events", b"").decode()
  if version != str(ev.FORMAT_VERSION):
    raise EventFileError(
        f"{path}: event format {version or 'unknown'}, this pdjax reads"
        f" {ev.FORMAT_VERSION}"
    )
  try:
    return from_table(table)
  except (EventFileError, ValueError) as error:
    raise EventFileError(f"{path}: {error}") from error


def to_table(log: ev.Log) -> pa.Table:
  """A log as one table in the log's order."""
  places: dict[type, list[int]] = {}
  times_ps, entries = [], []
  for place, (at_ps, entry) in enumerate(log):
    places.setdefault(type(entry), []).append(place)
    times_ps.append(at_ps)
    entries.append(entry)
  parts = [SCHEMA.empty_table().drop_columns(["written_ps"])]
  for kind, rows in places.items():
    parts.append(_part(kind, [entries[row] for row in rows]))
  order = np.concatenate([[], *places.values()]).astype(np.int64)
  table = pa.concat_tables(parts, promote_options="default")
  table = table.take(pa.array(np.argsort(order))).unify_dictionaries()
  columns = {"written_ps": pa.array(times_ps, INT)}
  columns |= dict(zip(table.column_names, table.columns, strict=True))
  return pa.Table.from_pydict(
      {name: columns[name] for name in SCHEMA.names}, schema=SCHEMA
  )


def _part(kind: type, entries: Sequence[ev.Entry]) -> pa.Table:
  """Entries of one kind, with the columns of their fields only."""
  words = pa.array([kind.__name__] * len(entries)).dictionary_encode()
  columns: dict[str, pa.Array] = {"kind": words}
  for field in dataclasses.fields(kind):
    values = [getattr(entry, field.name) for entry in entries]
    spread = SPREAD.get((kind, field.name))
    if spread is None:
      columns[field.name] = _array(field.name, values)
      continue
    parts = spread.split(values)
    for name, part in zip(spread.columns, parts, strict=True):
      columns[name] = _array(name, part)
  return pa.table(columns)


def _array(name: str, values: Sequence[Any] | pa.Array) -> pa.Array:
  if isinstance(values, pa.Array):
    return values
  kind = SCHEMA.field(name).type
  if kind == WORD:
    return pa.array(values, pa.string()).dictionary_encode()
  return pa.array(values, kind)


def from_table(table: pa.Table) -> ev.Log:
  """The log of a table that `to_table` made.

  Raises:
    EventFileError: a column is not of the format, or a row lacks a field.
    ValueError: a row is no request that could be.
  """
  if not table.schema.equals(SCHEMA):
    raise EventFileError("its columns are not those of an event file")
  entries: list[Any] = [None] * len(table)
  kinds = table["kind"].combine_chunks().to_pylist()
  places: dict[str, list[int]] = {}
  for place, name in enumerate(kinds):
    places.setdefault(name, []).append(place)
  named = {kind.__name__: kind for kind in ev.ENTRIES}
  for name, rows in places.items():
    if name not in named:
      raise EventFileError(f"no entry is called {name!r}")
    part = table.take(pa.array(rows))
    for row, entry in zip(rows, _entries(named[name], part), strict=True):
      entries[row] = entry
  log = ev.Log()
  for at_ps, entry in zip(
      table["written_ps"].to_pylist(), entries, strict=True
  ):
    log.append(at_ps, entry)
  return log


def _entries(kind: type, part: pa.Table) -> Iterable[ev.Entry]:
  """The entries of one kind, built from the columns of their fields."""
  fields = []
  for field in dataclasses.fields(kind):
    spread = SPREAD.get((kind, field.name))
    names = spread.columns if spread else (field.name,)
    nullable = spread.nullable if spread else ()
    columns = [part[name].combine_chunks() for name in names]
    for name, column in zip(names, columns, strict=True):
      if column.null_count and name not in nullable:
        raise EventFileError(f"{kind.__name__} without {name}")
    fields.append(spread.join(*columns) if spread else columns[0].to_pylist())
  return map(typing.cast(Any, kind), *fields)
