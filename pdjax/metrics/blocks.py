"""Spans in which a request was found to lack a resource, from marks of the log.

A request that is blocked on one thing and then on another is taken to lack the
later one from then on. `Unblocked` ends what it lacks.

Units: `_ns` integer nanoseconds.
"""

import dataclasses
from collections.abc import Callable, Iterable

import numpy as np

from pdjax.events import Blocked, Unblocked

RESOURCES = ("pages", "seqs")
"""What a `Blocked` may name; another name counts as pages."""

Noted = tuple[int, int, Blocked | Unblocked]
"""(place in the log, at_ps, mark)."""


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Blocks:
  """A span each, in order of the log."""

  row: np.ndarray
  worker: np.ndarray
  seqs: np.ndarray
  """Whether it is the batch limit that is lacking, not pages."""
  place: np.ndarray
  """Where the log says so."""
  begin_ns: np.ndarray
  end_ns: np.ndarray

  def __getitem__(self, keep: np.ndarray) -> "Blocks":
    return Blocks(
        *(getattr(self, f.name)[keep] for f in dataclasses.fields(self))
    )


def read_blocks(
    marks: Iterable[Noted],
    rows: Callable[[np.ndarray], np.ndarray],
    end_ps: int,
) -> Blocks:
  """Pairs the marks; what is never unblocked lasts until `end_ps`."""
  spans: list[list[int]] = []
  latest: dict[int, list[int]] = {}
  for place, at_ps, mark in marks:
    row = mark.request
    if row in latest:
      latest.pop(row)[-1] = at_ps // 1000
    if isinstance(mark, Blocked):
      seqs = int(mark.resource == "seqs")
      span = [row, mark.worker, seqs, place, at_ps // 1000, end_ps // 1000]
      spans.append(span)
      latest[row] = span
  columns = np.array(spans, np.int64).reshape(-1, 6).T
  row, worker, seqs, place, begin_ns, end_ns = columns
  row = rows(row)
  return Blocks(row, worker, seqs > 0, place, begin_ns, end_ns)
