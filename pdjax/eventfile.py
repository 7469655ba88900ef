"""The parquet form of a log: one table, one row an entry, and back exactly.

It stores what `pdjax.events` defines and nothing derived from it. Each entry
fills the columns of its fields and leaves the others null. A field that is a
number or a word has the column of its name; any other spreads over several
(`_SPREAD`). docs/events.md describes every column.

Units: `_ps` integer picoseconds, `_tokens` tokens.
"""

import dataclasses
import itertools
import operator
import os
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pdjax import events as ev
from pdjax.request import Request

_INT, _INTS = pa.int64(), pa.list_(pa.int64())
_WORD = pa.dictionary(pa.int32(), pa.string())

SCHEMA = pa.schema(
    [
        pa.field("written_ps", _INT, nullable=False),
        pa.field("kind", _WORD, nullable=False),
        *(
            pa.field(name, _INT)
            for name in (
                "at_ps", "asked_ps", "started_ps", "request", "worker", "lane",
                "run", "steps", "repeats", "transfer", "source", "target",
                "pages", "first_page", "end_page", "first_layer", "end_layer",
                "moved_bytes", "arrival_ps", "prompt_tokens", "max_tokens",
                "prefix_block_tokens",
            )
        ),
        *(
            pa.field(name, _INTS)
            for name in (
                "prefix_ids", "segment_steps", "segment_first_ps",
                "segment_slope_ps", "finished_request", "finished_tokens",
                "prefill_request", "prefill_tokens", "decode",
            )
        ),
        *(
            pa.field(name, _WORD)
            for name in ("stage", "failure", "resource", "reason", "role")
        ),
    ],
    metadata={"pdjax.events": str(ev.FORMAT_VERSION)},
)
"""Columns of an event file; the metadata names the format's version."""


@dataclasses.dataclass(frozen=True)
class _Spread:
  """One field of an entry as several columns.

  `split` makes the columns of many values, `join` the values of the columns.
  """

  columns: tuple[str, ...]
  split: Callable[[Sequence[Any]], Iterable[Any]]
  join: Callable[..., Iterable[Any]]


def _nested(
    columns: tuple[str, ...],
    reads: Sequence[Callable[[Any], Any]],
    make: Callable[..., Any],
) -> _Spread:
  """Tuples of items, each part of an item a list; all parts alike long.

  Flat in between: a list a row would be millions of small objects.
  """

  def split(values: Sequence[Any]) -> Iterable[pa.ListArray]:
    ends = pa.array(np.cumsum([0, *map(len, values)]), pa.int32())
    items = list(itertools.chain.from_iterable(values))
    for read in reads:
      yield pa.ListArray.from_arrays(ends, pa.array(map(read, items), _INT))

  def join(*lists: pa.ListArray) -> Iterable[tuple]:
    items = list(map(make, *(part.flatten().to_pylist() for part in lists)))
    ends = np.cumsum(lists[0].value_lengths()).tolist()
    for begin, end in zip([0, *ends], ends, strict=False):
      yield tuple(items[begin:end])

  return _Spread(columns, split, join)


def _pairs(first: str, second: str) -> _Spread:
  reads = (operator.itemgetter(0), operator.itemgetter(1))
  return _nested((first, second), reads, lambda *pair: pair)


def _range(first: str, end: str) -> _Spread:
  """A half-open range, or None as two nulls."""
  return _Spread(
      (first, end),
      lambda pairs: zip(*(pair or (None, None) for pair in pairs), strict=True),
      lambda firsts, ends: (
          None if pair[0] is None else pair
          for pair in zip(firsts.to_pylist(), ends.to_pylist(), strict=True)
      ),
  )


def _split_requests(requests: Sequence[Request]) -> Iterable[Any]:
  return zip(
      *(
          (r.id, r.arrival_ps, r.prompt_tokens, r.max_tokens, r.prefix_ids,
           r.prefix_block_tokens)
          for r in requests
      ),
      strict=True,
  )


def _join_requests(*columns: pa.Array) -> Iterable[Request]:
  rows = zip(*(column.to_pylist() for column in columns), strict=True)
  for id, arrival_ps, prompt_tokens, max_tokens, prefix_ids, block in rows:
    yield Request(
        id=id,
        arrival_ps=arrival_ps,
        prompt_tokens=prompt_tokens,
        max_tokens=max_tokens,
        prefix_ids=tuple(prefix_ids),
        prefix_block_tokens=block,
    )


_REQUEST = _Spread(
    (
        "request", "arrival_ps", "prompt_tokens", "max_tokens", "prefix_ids",
        "prefix_block_tokens",
    ),
    _split_requests,
    _join_requests,
)

_SEGMENTS = _nested(
    ("segment_steps", "segment_first_ps", "segment_slope_ps"),
    [operator.attrgetter(f.name) for f in dataclasses.fields(ev.Segment)],
    ev.Segment,
)

_SPREAD: dict[tuple[type, str], _Spread] = {
    (ev.Arrived, "request"): _REQUEST,
    (ev.StepEnded, "segments"): _SEGMENTS,
    (ev.StepEnded, "finished"): _pairs("finished_request", "finished_tokens"),
    (ev.Step, "prefill"): _pairs("prefill_request", "prefill_tokens"),
    (ev.Step, "decode"): _nested(("decode",), [int], int),
    (ev.Transfer, "pages"): _range("first_page", "end_page"),
    (ev.Transfer, "layers"): _range("first_layer", "end_layer"),
}


class EventFileError(ValueError):
  """A file that is not a log of this format."""


def write_log(log: ev.Log, path: str | os.PathLike) -> None:
  """Writes a log to a parquet file, replacing what was there."""
  pq.write_table(to_table(log), path, compression="zstd")


def read_log(path: str | os.PathLike) -> ev.Log:
  """Reads the log that `write_log` wrote; equal entry by entry.

  Raises:
    EventFileError: not an event file, or of another format version.
  """
  try:
    table = pq.read_table(path)
  except (pa.ArrowInvalid, FileNotFoundError) as error:
    raise EventFileError(f"{path}: not a readable event file") from error
  version = (table.schema.metadata or {}).get(b"pdjax.events", b"").decode()
  if version != str(ev.FORMAT_VERSION):
    raise EventFileError(
        f"{path}: event format {version or 'unknown'}, this pdjax reads"
        f" {ev.FORMAT_VERSION}"
    )
  return from_table(table)


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
  columns = {"written_ps": pa.array(times_ps, _INT)}
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
    spread = _SPREAD.get((kind, field.name))
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
  if kind == _WORD:
    return pa.array(values, pa.string()).dictionary_encode()
  return pa.array(values, kind)


def from_table(table: pa.Table) -> ev.Log:
  """The log of a table that `to_table` made."""
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
    spread = _SPREAD.get((kind, field.name))
    if spread is None:
      fields.append(part[field.name].to_pylist())
    else:
      columns = [part[name].combine_chunks() for name in spread.columns]
      fields.append(spread.join(*columns))
  return map(typing.cast(Any, kind), *fields)
