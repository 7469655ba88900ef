"""How each worker spent the run: computing, or waiting for what.

Five states share out all the time of a worker, the first that holds counts:

  compute       a step is under way, perhaps in vain
  lost          it is gone, and not back yet
  kv_in_flight  none is, and pages are on their way to it
  blocked       none of these, and a request lacks pages or a place in its batch
  no_work       else: nothing to do, or only work that its policy holds back

The log alone says all of it. Copies of pages between two steps are part of the
step before or after where the backend charges them to it, else of waiting.

Units: `_ns` integer nanoseconds.
"""

import dataclasses

import numpy as np

from pdjax.metrics.journal import Journal
from pdjax.metrics.spans import Spans

STATES = ("compute", "lost", "kv_in_flight", "blocked", "no_work")


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class WorkerTime:
  """Nanoseconds of each state by worker; they sum to `span_ns` exactly."""

  span_ns: int
  state_ns: dict[str, np.ndarray]
  egress_ns: np.ndarray
  """With bytes on its way out."""
  ingress_ns: np.ndarray
  """With bytes on its way in."""

  @property
  def workers(self) -> int:
    return len(self.egress_ns)

  def share(self, ns: np.ndarray) -> np.ndarray:
    """Of the span; zeros where there is none."""
    return ns / self.span_ns if self.span_ns else np.zeros(len(ns))


def worker_time(
    journal: Journal, begin_ns: int, end_ns: int, workers: int
) -> WorkerTime:
  """Of `workers` workers in [begin, end)."""
  runs, blocks, mishaps = journal.runs, journal.blocks, journal.mishaps

  def inside(spans: Spans) -> Spans:
    return spans.clipped(begin_ns, end_ns)

  ran = Spans.of(
      runs.worker, runs.started_ps // 1000, runs.ended_ps // 1000
  ).plus(Spans.of(
      mishaps.cut_worker, mishaps.cut_begin_ns, mishaps.cut_end_ns
  ))
  lost = inside(Spans.of(
      mishaps.lost_worker, mishaps.lost_ns, mishaps.back_ns
  ))
  flying = inside(journal.moves.inbound())
  lacking = inside(Spans.of(blocks.worker, blocks.begin_ns, blocks.end_ns))
  out, into = map(inside, journal.moves.on_links())
  ran = inside(ran)
  state_ns = {
      "compute": ran.total_ns(workers),
      "lost": lost.outside_ns(ran, workers),
      "kv_in_flight": flying.outside_ns(ran.plus(lost), workers),
      "blocked": lacking.outside_ns(ran.plus(lost).plus(flying), workers),
  }
  span_ns = max(0, end_ns - begin_ns)
  busy_ns = np.sum(list(state_ns.values()), axis=0)
  state_ns["no_work"] = np.full(workers, span_ns) - busy_ns
  return WorkerTime(
      span_ns, state_ns, out.total_ns(workers), into.total_ns(workers)
  )
