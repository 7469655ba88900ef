"""Columns of an event file, and which of them a field of an entry fills.

A field that is a number or a word has the column of its name; any other
spreads over several (`SPREAD`). docs/events.md describes every column. The
file itself is `pdjax.eventfile`'s.

Units: `_ps` integer picoseconds, `_tokens` tokens.
"""

import dataclasses
import itertools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pdjax import events as ev
from pdjax.request import Request
from pdjax.segments import Segment

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
                "pages", "first_page", "end_page", "first_layer", "end_layer",
                "moved_bytes", "arrival_ps", "prompt_tokens", "max_tokens",
                "prefix_block_tokens", "deadline_ps", "cached_tokens",
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
            for name in ("stage", "failure", "resource", "reason", "role")
        ),
    ],
    metadata={"pdjax.events": str(ev.FORMAT_VERSION)},
)
"""Columns of an event file; the metadata names the format's version."""


@dataclasses.dataclass(frozen=True)
class Spread:
  """One field of an entry as several columns.

  `split` makes the columns of many values, `join` the values of the columns.
  """

  columns: tuple[str, ...]
  split: Callable[[Sequence[Any]], Iterable[Any]]
  join: Callable[..., Iterable[Any]]
  nullable: frozenset[str] = frozenset()
  """Columns that may be null."""


def _nested(
    columns: tuple[str, ...],
    reads: Sequence[Callable[[Any], Any]],
    make: Callable[..., Any],
) -> Spread:
  """Tuples of items, each part of an item a list; all parts alike long.

  Flat in between: a list a row would be millions of small objects.
  """

  def split(values: Sequence[Any]) -> Iterable[pa.ListArray]:
    ends = pa.array(np.cumsum([0, *map(len, values)]), pa.int32())
    items = list(itertools.chain.from_iterable(values))
    for read in reads:
      yield pa.ListArray.from_arrays(ends, pa.array(map(read, items), INT))

  def join(*lists: pa.ListArray) -> Iterable[tuple]:
    items = list(map(make, *(part.flatten().to_pylist() for part in lists)))
    ends = np.cumsum(lists[0].value_lengths()).tolist()
    for begin, end in zip([0, *ends], ends, strict=False):
      yield tuple(items[begin:end])

  return Spread(columns, split, join)


def _pairs(first: str, second: str) -> Spread:
  reads = (operator.itemgetter(0), operator.itemgetter(1))
  return _nested((first, second), reads, lambda *pair: pair)


def _range(first: str, end: str, *, nullable: bool = False) -> Spread:
  """A half-open range, or None as two nulls."""
  return Spread(
      (first, end),
      lambda pairs: zip(*(pair or (None, None) for pair in pairs), strict=True),
      lambda firsts, ends: (
          None if pair[0] is None else pair
          for pair in zip(firsts.to_pylist(), ends.to_pylist(), strict=True)
      ),
      nullable=frozenset({first, end} if nullable else ()),
  )


def _split_requests(requests: Sequence[Request]) -> Iterable[Any]:
  return zip(
      *(
          (r.id, r.arrival_ps, r.prompt_tokens, r.max_tokens, r.prefix_ids,
           r.prefix_block_tokens, r.deadline_ps)
          for r in requests
      ),
      strict=True,
  )


def _join_requests(*columns: pa.Array) -> Iterable[Request]:
  rows = zip(*(column.to_pylist() for column in columns), strict=True)
  for (
      id, arrival_ps, prompt_tokens, max_tokens, prefix_ids, block, deadline_ps
  ) in rows:
    yield Request(
        id=id,
        arrival_ps=arrival_ps,
        prompt_tokens=prompt_tokens,
        max_tokens=max_tokens,
        prefix_ids=tuple(prefix_ids),
        prefix_block_tokens=block,
        deadline_ps=deadline_ps,
    )


_REQUEST = Spread(
    (
        "request", "arrival_ps", "prompt_tokens", "max_tokens", "prefix_ids",
        "prefix_block_tokens", "deadline_ps",
    ),
    _split_requests,
    _join_requests,
    nullable=frozenset({"deadline_ps"}),
)

_SEGMENTS = _nested(
    ("segment_steps", "segment_first_ps", "segment_slope_ps"),
    [operator.attrgetter(f.name) for f in dataclasses.fields(Segment)],
    Segment,
)

SPREAD: dict[tuple[type, str], Spread] = {
    (ev.Arrived, "request"): _REQUEST,
    (ev.StepEnded, "segments"): _SEGMENTS,
    (ev.StepEnded, "finished"): _pairs("finished_request", "finished_tokens"),
    (ev.Step, "prefill"): _pairs("prefill_request", "prefill_tokens"),
    (ev.Step, "decode"): _nested(("decode",), [int], int),
    (ev.Transfer, "pages"): _range("first_page", "end_page"),
    (ev.Transfer, "layers"): _range(
        "first_layer", "end_layer", nullable=True
    ),
}
