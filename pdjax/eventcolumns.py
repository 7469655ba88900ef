"""Entries as columns of numbers, kind by kind, and back exactly.

A log keeps its entries so: an object for each would cost ten times the memory,
and metrics would read them one by one. A field that is a number or a word is a
column of its name; any other spreads over several (`SPREAD`). docs/events.md
describes every column; the file of them is `pdjax.eventfile`'s.

Units: `_ps` integer picoseconds, `_tokens` tokens.
"""

import collections
import dataclasses
import functools
import itertools
import operator
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from pdjax.request import Request
from pdjax.segments import Segment


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Ragged:
  """Lists of integers, one after another."""

  lengths: np.ndarray
  flat: np.ndarray

  @property
  def owner(self) -> np.ndarray:
    """The list that each value is in."""
    return np.repeat(np.arange(len(self.lengths)), self.lengths)


Column = np.ndarray | Ragged
"""Numbers; words, and numbers that may be None, as objects; lists."""


class Spread(NamedTuple):
  """One field of an entry as several columns.

  `split` makes the columns of many values, `join` the values of the columns.
  """

  columns: tuple[str, ...]
  split: Callable[[Sequence[Any]], Iterable[Column]]
  join: Callable[..., Iterable[Any]]
  nullable: frozenset[str] = frozenset()
  """Columns that may be null."""


def _whole(values: Sequence[Any]) -> np.ndarray:
  return np.fromiter(values, np.int64, len(values))


def _objects(values: Sequence[Any]) -> np.ndarray:
  return np.array(values, object)


def _nested(
    columns: tuple[str, ...],
    reads: Sequence[Callable[[Any], Any]],
    make: Callable[..., Any],
) -> Spread:
  """Tuples of items, each part of an item a list; all parts alike long."""

  def split(values: Sequence[Any]) -> Iterator[Ragged]:
    lengths = np.fromiter(map(len, values), np.int64, len(values))
    items = list(itertools.chain.from_iterable(values))
    for read in reads:
      flat = np.fromiter(map(read, items), np.int64, len(items))
      yield Ragged(lengths, flat)

  def join(*lists: Ragged) -> Iterator[tuple]:
    items = list(map(make, *(part.flat.tolist() for part in lists)))
    ends = np.cumsum(lists[0].lengths).tolist()
    for begin, end in zip([0, *ends], ends, strict=False):
      yield tuple(items[begin:end])

  return Spread(columns, split, join)


def _pairs(first: str, second: str) -> Spread:
  reads = (operator.itemgetter(0), operator.itemgetter(1))
  return _nested((first, second), reads, lambda *pair: pair)


def _range(first: str, end: str) -> Spread:
  """A half-open range."""

  def split(pairs: Sequence[tuple[int, int]]) -> Iterator[np.ndarray]:
    for part in (0, 1):
      yield _whole([pair[part] for pair in pairs])

  def join(firsts: np.ndarray, ends: np.ndarray) -> Iterator[Any]:
    return zip(firsts.tolist(), ends.tolist(), strict=True)

  return Spread((first, end), split, join)


def _split_requests(requests: Sequence[Request]) -> Iterator[Column]:
  for name in ("id", "arrival_ps", "prompt_tokens", "max_tokens"):
    yield _whole([*map(operator.attrgetter(name), requests)])
  ids = [request.prefix_ids for request in requests]
  yield Ragged(
      _whole([*map(len, ids)]),
      _whole([*itertools.chain.from_iterable(ids)]),
  )
  yield _whole([request.prefix_block_tokens for request in requests])
  yield _objects([request.deadline_ps for request in requests])
  yield _objects([request.session for request in requests])


def _join_requests(
    ids: np.ndarray, arrival: np.ndarray, prompt: np.ndarray, most: np.ndarray,
    prefixes: Ragged, block: np.ndarray, deadline: np.ndarray,
    sessions: np.ndarray,
) -> Iterator[Request]:
  ends = np.cumsum(prefixes.lengths)
  columns = (ids, arrival, prompt, most, block, deadline, sessions)
  rows = zip(
      *(column.tolist() for column in columns),
      (ends - prefixes.lengths).tolist(), ends.tolist(), strict=True,
  )
  flat = prefixes.flat.tolist()
  for (
      id, at_ps, prompt_tokens, max_tokens, size, due_ps, session, begin, end
  ) in rows:
    yield Request(
        id=id,
        arrival_ps=at_ps,
        prompt_tokens=prompt_tokens,
        max_tokens=max_tokens,
        prefix_ids=tuple(flat[begin:end]),
        prefix_block_tokens=size,
        deadline_ps=due_ps,
        session=session,
    )


_REQUEST = Spread(
    (
        "request", "arrival_ps", "prompt_tokens", "max_tokens", "prefix_ids",
        "prefix_block_tokens", "deadline_ps", "session",
    ),
    _split_requests,
    _join_requests,
    nullable=frozenset({"deadline_ps", "session"}),
)

_SEGMENTS = _nested(
    ("segment_steps", "segment_first_ps", "segment_slope_ps"),
    [operator.attrgetter(f.name) for f in dataclasses.fields(Segment)],
    Segment,
)

SPREAD: dict[tuple[str, str], Spread] = {
    ("Arrived", "request"): _REQUEST,
    ("StepEnded", "segments"): _SEGMENTS,
    ("StepEnded", "finished"): _pairs("finished_request", "finished_tokens"),
    ("Step", "prefill"): _pairs("prefill_request", "prefill_tokens"),
    ("Step", "decode"): _nested(("decode",), [int], int),
    ("Transfer", "pages"): _range("first_page", "end_page"),
}
"""By the names of a kind and its field."""


@functools.cache
def _spreads_of(kind: type) -> tuple[tuple[Callable[[Any], Any], Spread], ...]:
  """What reads each field of a kind, and the columns of it."""
  return tuple(
      (operator.attrgetter(field.name), spread_of(kind, field))
      for field in dataclasses.fields(kind)
  )


def spread_of(kind: type, field: dataclasses.Field) -> Spread:
  """The columns of a field, one of its own name where it is plain."""
  found = SPREAD.get((kind.__name__, field.name))
  if found is not None:
    return found
  column = _objects if field.type is str else _whole
  return Spread(
      (field.name,), lambda values: (column(values),),
      lambda values: values.tolist(),
  )


def columns_of(kind: type, entries: Sequence[Any]) -> dict[str, Column]:
  """Columns of entries of one kind, all of its fields."""
  columns: dict[str, Column] = {}
  for read, spread in _spreads_of(kind):
    parts = spread.split([*map(read, entries)])
    columns.update(zip(spread.columns, parts, strict=True))
  return columns


def entries_of(kind: type, columns: dict[str, Column]) -> Iterator[Any]:
  """The entries that `columns_of` made them of."""
  fields = [
      spread.join(*(columns[name] for name in spread.columns))
      for _, spread in _spreads_of(kind)
  ]
  return map(typing.cast(Any, kind), *fields)


class Table(NamedTuple):
  """Entries of one kind in a block."""

  place: np.ndarray
  """In the block."""
  columns: dict[str, Column]


class Block(NamedTuple):
  """Some entries in a row."""

  times_ps: np.ndarray
  """When each was written."""
  tables: dict[type, Table]

  @classmethod
  def of(cls, times_ps: Sequence[int], entries: Sequence[Any]) -> "Block":
    places: dict[type, list[int]] = collections.defaultdict(list)
    for place, kind in enumerate(map(type, entries)):
      places[kind].append(place)
    tables = {
        kind: Table(
            _whole(rows), columns_of(kind, [entries[row] for row in rows])
        )
        for kind, rows in places.items()
    }
    return cls(_whole(times_ps), tables)

  @classmethod
  def joined(cls, parts: Sequence["Block"]) -> "Block":
    """Several blocks as one."""
    found: dict[type, list[Table]] = collections.defaultdict(list)
    before = 0
    for part in parts:
      for kind, (place, columns) in part.tables.items():
        found[kind].append(Table(before + place, columns))
      before += len(part.times_ps)
    tables = {
        kind: Table(
            np.concatenate([table.place for table in tables]),
            {
                name: joined([table.columns[name] for table in tables])
                for name in tables[0].columns
            },
        )
        for kind, tables in found.items()
    }
    return cls(np.concatenate([part.times_ps for part in parts]), tables)

  def entries(self, kinds: Iterable[type]) -> list[tuple[int, int, Any]]:
    """(place, time, entry) of some kinds in order."""
    found = []
    for kind in {*kinds} & {*self.tables}:
      place, columns = self.tables[kind]
      times_ps = self.times_ps[place].tolist()
      made = entries_of(kind, columns)
      found += zip(place.tolist(), times_ps, made, strict=True)
    return sorted(found, key=operator.itemgetter(0))


def joined(parts: Sequence[Column]) -> Column:
  """Columns of one name of several blocks, one after another."""
  if isinstance(parts[0], Ragged):
    lists = typing.cast(Sequence[Ragged], parts)
    return Ragged(
        np.concatenate([part.lengths for part in lists]),
        np.concatenate([part.flat for part in lists]),
    )
  return np.concatenate(typing.cast(Sequence[np.ndarray], parts))
