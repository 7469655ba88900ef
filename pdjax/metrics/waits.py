"""What each request waited for: the queue, pages, a place in the batch.

Until its first prompt token a request waits in the queue of a worker (stage P).
Only the head of a queue is marked as blocked, but whoever waits behind it
waits for the same: so time in the queue while the worker lacked pages for any
of its queue is time for want of pages. From the end of its prefill to its first
decode (stage D) a request to be handed off has marks of its own. Where it needs
a place on the decode side before its prefill starts, the want of that is a wait
of its stage P too.

    p_queue + p_memory + p_slots + p_place = queue_prefill
    d_queue + d_memory + d_slots = transfer_wait + queue_decode

What is left over is the queue's: waiting for a turn, or for the step under way
to end. In a colocated run both stages are of one worker.

Units: `_ns` integer nanoseconds.
"""

from collections.abc import Iterator

import numpy as np

from pdjax.metrics.blocks import Blocks
from pdjax.metrics.journal import Journal
from pdjax.metrics.spans import Spans

WAITS = (
    "p_queue", "p_memory", "p_slots", "p_place", "d_queue", "d_memory",
    "d_slots",
)

Parts = dict[str, np.ma.MaskedArray]


def waits(
    journal: Journal, prefill_done: np.ndarray, parts: Parts
) -> Parts:
  """The waits of each row, masked as its breakdown is.

  Args:
    journal: of the run.
    prefill_done: of each of the journal's blocks, whether the prefill of its
      request was over.
    parts: the breakdown.
  """
  blocks = journal.blocks
  p_memory, p_slots, p_place = _before_prefill(
      journal, blocks[~prefill_done], parts
  )
  d_memory, d_slots = _before_decode(journal, blocks[prefill_done])
  waited = parts["transfer_wait"] + parts["queue_decode"]
  return {
      "p_queue": parts["queue_prefill"] - p_memory - p_slots - p_place,
      "p_memory": _as(parts, p_memory),
      "p_slots": _as(parts, p_slots),
      "p_place": _as(parts, p_place),
      "d_queue": waited - d_memory - d_slots,
      "d_memory": _as(parts, d_memory),
      "d_slots": _as(parts, d_slots),
  }


def _as(parts: Parts, values: np.ndarray) -> np.ma.MaskedArray:
  return np.ma.masked_array(values, np.ma.getmaskarray(parts["decode"]))


def _before_prefill(
    journal: Journal, blocks: Blocks, parts: Parts
) -> Iterator[np.ndarray]:
  """Time in the queue while its worker lacked pages, places, and places
  elsewhere for whom it was to start."""
  arrival_ns = journal.requests.arrival_ps // 1000
  queued_ns = np.ma.filled(parts["queue_prefill"], 0)
  worker, place = _first_steps(journal)
  early = blocks.place < place[blocks.row]
  queue = np.where(early, worker[blocks.row], blocks.worker)
  lacking, here = _in_turn(blocks, queue), blocks.worker == queue
  for kind in (here & ~blocks.seqs, here & blocks.seqs, ~here):
    spans = Spans.of(queue[kind], lacking[kind], blocks.end_ns[kind])
    yield spans.within_ns(worker, arrival_ns, arrival_ns + queued_ns)


def _in_turn(blocks: Blocks, queue: np.ndarray) -> np.ndarray:
  """When each block begins that no earlier one of its queue covers."""
  begin_ns = blocks.begin_ns.copy()
  for worker in np.unique(queue):
    mine = np.flatnonzero(queue == worker)
    mine = mine[np.argsort(begin_ns[mine], kind="stable")]
    reached_ns = np.maximum.accumulate(blocks.end_ns[mine])
    begin_ns[mine[1:]] = np.maximum(begin_ns[mine[1:]], reached_ns[:-1])
  return begin_ns


def _before_decode(
    journal: Journal, blocks: Blocks
) -> tuple[np.ndarray, np.ndarray]:
  """Time that each row was itself blocked for want of pages, and places."""
  length_ns = blocks.end_ns - blocks.begin_ns
  memory, slots = np.zeros((2, len(journal.requests)), np.int64)
  np.add.at(memory, blocks.row, np.where(blocks.seqs, 0, length_ns))
  np.add.at(slots, blocks.row, np.where(blocks.seqs, length_ns, 0))
  return memory, slots


def _first_steps(journal: Journal) -> tuple[np.ndarray, np.ndarray]:
  """Where each row computed first, and the place in the log; else zeros."""
  members = journal.members
  first = np.flatnonzero(np.diff(members.row, prepend=-1))
  worker, place = np.zeros((2, len(journal.requests)), np.int64)
  run, row = members.run[first], members.row[first]
  worker[row] = journal.runs.worker[run]
  place[row] = journal.runs.start_place[run]
  return worker, place
