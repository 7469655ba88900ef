"""Where a request's time went: seven parts that sum to its end-to-end latency.

The parts partition [intended arrival, last token]. Boundaries are read off the
log, floored to nanoseconds, and only then subtracted, so the sum is exact. Only
finished requests have a breakdown.

Units: `_ns` integer nanoseconds.
"""

import numpy as np

from pdjax.metrics.journal import Journal
from pdjax.metrics.tokens import Lives

PARTS = (
    "queue_prefill", "prefill", "transfer_wait", "transfer", "queue_decode",
    "decode", "preempted",
)
"""In the order in which an undisturbed request passes through them."""

(
    QUEUE_PREFILL, PREFILL, TRANSFER_WAIT, TRANSFER, QUEUE_DECODE, DECODE,
    PREEMPTED,
) = range(len(PARTS))


def breakdown(
    journal: Journal, lives: Lives, last_ns: np.ma.MaskedArray
) -> tuple[dict[str, np.ma.MaskedArray], np.ma.MaskedArray]:
  """Nanoseconds of each part per row, and of transfer hidden by prefill."""
  bounds = _Bounds()
  done_ps, done_place = prefill_ends(journal, lives)
  num_rows = len(journal.requests)
  rows = np.arange(num_rows)
  arrival_ps = journal.requests.arrival_ps
  bounds.add(rows, arrival_ps, np.full(num_rows, -1), QUEUE_PREFILL)
  _add_runs(bounds, journal, lives)
  hidden_ns = _add_transfers(bounds, journal, lives, done_ps, done_place)
  drops = journal.drops
  bounds.add(drops.row, drops.at_ps, drops.place, PREEMPTED)
  parts = bounds.parts_ns(arrival_ps // 1000, last_ns)
  unfinished = np.ma.getmaskarray(last_ns)
  return (
      {
          name: np.ma.masked_array(part_ns, unfinished)
          for name, part_ns in zip(PARTS, parts, strict=True)
      },
      np.ma.masked_array(hidden_ns, unfinished),
  )


class _Bounds:
  """Points at which a row enters a part; the last one at a time wins."""

  def __init__(self):
    self._points: list[np.ndarray] = []

  def add(
      self,
      row: np.ndarray,
      at_ps: np.ndarray,
      place: np.ndarray,
      part: int | np.ndarray,
      tie: int | np.ndarray = 0,
  ) -> None:
    part, tie = (np.broadcast_to(x, row.shape) for x in (part, tie))
    self._points.append(np.stack([row, at_ps // 1000, place, tie, part]))

  def parts_ns(
      self, arrival_ns: np.ndarray, last_ns: np.ma.MaskedArray
  ) -> np.ndarray:
    """[part, row]: time from each point to the row's next, or its end."""
    row, at_ns, place, tie, part = np.concatenate(self._points, axis=1)
    order = np.lexsort((tie, place, at_ns, row))
    row, part = row[order], part[order]
    end_ns = np.ma.filled(last_ns, 0)[row]
    at_ns = np.clip(at_ns[order], arrival_ns[row], None)
    at_ns = np.minimum(at_ns, end_ns)
    follows = np.append(np.diff(row) == 0, False)
    until_ns = np.where(follows, np.roll(at_ns, -1), end_ns)
    sums = np.zeros((len(PARTS), len(arrival_ns)), np.int64)
    np.add.at(sums, (part, row), until_ns - at_ns)
    return sums


def prefill_ends(
    journal: Journal, lives: Lives
) -> tuple[np.ndarray, np.ndarray]:
  """Time and place at which each life's prefill is complete, else far off."""
  runs = journal.runs
  never = np.iinfo(np.int64).max
  at_ps = np.full(len(lives.row), never)
  place = np.full(len(lives.row), never)
  run = journal.members.run[lives.last_chunk[lives.complete]]
  at_ps[lives.complete] = runs.token_ps[runs.offset[run]]
  place[lives.complete] = runs.end_place[run]
  return at_ps, place


def _add_runs(bounds: _Bounds, journal: Journal, lives: Lives) -> None:
  """First prefill of a request; each life's prefill end and first decode."""
  members, runs = journal.members, journal.runs
  place = runs.start_place[members.run]
  life = lives.at(members.row, place)
  first_of_life = np.searchsorted(lives.row, lives.row) == np.arange(
      len(lives.row)
  )
  for chunks, part in ((True, PREFILL), (False, DECODE)):
    which = np.flatnonzero((members.chunk_tokens > 0) == chunks)
    first = which[np.diff(life[which], prepend=-1) != 0]
    if chunks:
      # Prefill after a preemption is part of being preempted.
      first = first[first_of_life[life[first]]]
    run = members.run[first]
    bounds.add(members.row[first], runs.started_ps[run], place[first], part)


def _add_transfers(
    bounds: _Bounds,
    journal: Journal,
    lives: Lives,
    done_ps: np.ndarray,
    done_place: np.ndarray,
) -> np.ndarray:
  """Prefill ends and transfers; returns hidden transfer time per row."""
  starts, ends = journal.transfer_starts, journal.transfer_ends
  life = lives.of(starts)
  last_of_life = np.full(len(lives.row), -1)
  last_of_life[life] = np.arange(len(life))
  done = lives.complete
  bounds.add(
      lives.row[done], done_ps[done], done_place[done],
      np.where(last_of_life[done] >= 0, TRANSFER_WAIT, QUEUE_DECODE),
  )
  # What moves before its prefill is complete is hidden: the part begins where
  # the prefill ends, and its place after the place of that.
  seen_ps = np.maximum(starts.at_ps, done_ps[life])
  arrived = (ends.flag > 0) & (last_of_life[life] == np.arange(len(life)))
  for marks, part in (
      (starts, np.full(len(life), TRANSFER)),
      (ends, np.where(arrived, QUEUE_DECODE, TRANSFER_WAIT)),
  ):
    at_ps = np.maximum(marks.at_ps, done_ps[life])
    place = np.maximum(marks.place, done_place[life])
    bounds.add(marks.row, at_ps, place, part, tie=marks.place + 1)
  hidden_ns = np.zeros(len(journal.requests), np.int64)
  until_ps = np.minimum(ends.at_ps, seen_ps)
  np.add.at(
      hidden_ns, starts.row,
      np.maximum(0, until_ps // 1000 - starts.at_ps // 1000),
  )
  return hidden_ns
