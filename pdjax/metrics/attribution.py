"""Where a run's time went, worker by worker and link by link.

From the event log alone. What each request waited for is in the request table
(`pdjax.metrics.waits`, `pdjax.metrics.interference`); how well steps use their
chips needs the model's sizes and is `pdjax.utilisation`'s.

Units: `_ns` integer nanoseconds, `_bytes` bytes.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from pdjax.metrics.journal import Journal
from pdjax.metrics.workertime import STATES, WorkerTime, worker_time


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Attribution:
  """Of a run, or of the window of a steady one."""

  roles: tuple[str, ...]
  """Of each worker."""
  time: WorkerTime
  transfers: int
  """That began in it."""
  moved_bytes: int
  """By them."""
  staging_peak_bytes: int
  """Most of one source at one time off its pages and not yet in pages of their
  target; of the whole run."""
  twice_held_peak_bytes: int
  """Most KV at one time in pages of a source and in those of a target or on the
  way there; of the whole run."""


def attribution(
    journal: Journal,
    begin_ns: int,
    end_ns: int,
    roles: Sequence[str] | None = None,
) -> Attribution:
  """Of a run in [begin, end).

  `roles` are those of all workers; without them the workers that the log names
  are taken to be alike, C.
  """
  if roles is None:
    roles = ["C"] * _workers_of(journal)
  moves = journal.moves
  begins = (begin_ns <= moves.begin_ns) & (moves.begin_ns < end_ns)
  return Attribution(
      roles=tuple(roles),
      time=worker_time(journal, begin_ns, end_ns, len(roles)),
      transfers=int(begins.sum()),
      moved_bytes=int(moves.moved_bytes[begins].sum()),
      staging_peak_bytes=moves.staging_peak_bytes(),
      twice_held_peak_bytes=moves.most_bytes(moves.begin_ns, moves.whole_ns),
  )


def _workers_of(journal: Journal) -> int:
  """Workers that the log names; one that did nothing is not among them."""
  seen = (
      journal.runs.worker, journal.moves.target, journal.blocks.worker,
      journal.mishaps.lost_worker,
  )
  return 1 + max(int(each.max(initial=-1)) for each in seen)


def figures(found: Attribution) -> dict[str, Any]:
  """Flat names for the summary; shares are means over the workers of a role."""
  time = found.time
  row: dict[str, Any] = {}
  for role in dict.fromkeys(found.roles):
    mine = np.array(found.roles) == role
    for state in STATES:
      share = time.share(time.state_ns[state])[mine].mean()
      row[f"{state}_share[{role}]"] = float(share)
  busy = np.concatenate([time.egress_ns, time.ingress_ns])
  return row | {
      "link_busy_share": float(time.share(busy).max(initial=0.0)),
      "transfers": found.transfers,
      "transferred_bytes": found.moved_bytes,
      "staging_peak_bytes": found.staging_peak_bytes,
      "kv_twice_held_peak_bytes": found.twice_held_peak_bytes,
  }


def by_worker(found: Attribution) -> dict[str, Any]:
  """What `attribution.json` holds: a row a worker."""
  time = found.time
  shares = {
      **{f"{state}_share": time.share(time.state_ns[state])
         for state in STATES},
      "egress_busy_share": time.share(time.egress_ns),
      "ingress_busy_share": time.share(time.ingress_ns),
  }
  return {
      "span_s": time.span_ns / 1e9,
      "workers": [
          {"worker": worker, "role": role}
          | {name: float(share[worker]) for name, share in shares.items()}
          for worker, role in enumerate(found.roles)
      ],
  }
