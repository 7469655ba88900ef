"""What went wrong in a run: workers lost, steps cut, transfers harmed.

Units: `_ns` integer nanoseconds.
"""

import dataclasses
from typing import Any

import numpy as np

from pdjax.events import (
  Log,
  Step,
  StepEnded,
  TransferEnded,
  WorkerBack,
  WorkerLost,
)
from pdjax.segments import elapsed_ps

HARMS = ("dropped", "delayed", "corrupted", "slowed")


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Mishaps:
  """Of a whole run, in order of the log."""

  lost_worker: np.ndarray
  lost_ns: np.ndarray
  back_ns: np.ndarray
  """When it was there again; of one that stayed away the log's end."""
  cut_worker: np.ndarray
  """Of steps that were lost with their worker."""
  cut_begin_ns: np.ndarray
  cut_end_ns: np.ndarray
  harmed: dict[str, int]
  """Transfers by what a fault did to them."""
  failed_transfers: int
  unnoticed: tuple[int, ...]
  """Requests that went on with pages damaged on their way."""


def read_mishaps(log: Log) -> Mishaps:
  """Everything of a log that went wrong."""
  over = log.columns(TransferEnded)
  lost = _losses(log)
  cut = _cut_steps(log) if len(lost[0]) else np.empty((3, 0), np.int64)
  damaged = (over["fault"] == "corrupted") & (over["failure"] == "")
  return Mishaps(
      *lost, *cut,
      harmed={kind: int((over["fault"] == kind).sum()) for kind in HARMS},
      failed_transfers=int((over["failure"] != "").sum()),
      unnoticed=tuple(sorted(set(over["request"][damaged].tolist()))),
  )


def _losses(log: Log) -> np.ndarray:
  """[worker, lost, back] of every loss."""
  losses: list[list[int]] = []
  away: dict[int, list[int]] = {}
  for event in log.of(WorkerLost, WorkerBack):
    if isinstance(event, WorkerLost):
      away[event.worker] = [
          event.worker, event.at_ps // 1000, log.end_ps // 1000
      ]
      losses.append(away[event.worker])
    else:
      away.pop(event.worker)[-1] = event.at_ps // 1000
  return np.array(losses, np.int64).reshape(-1, 3).T


def _cut_steps(log: Log) -> np.ndarray:
  """[worker, begin, end] of each step that a loss cut short.

  A step is taken to begin when it was asked for; within a run, when the one
  before it was over.
  """
  cut: list[tuple[int, int, int]] = []
  running: dict[tuple[int, int], int] = {}
  told_ps: dict[tuple[int, int], int] = {}
  for _, at_ps, entry in log.noted(Step, StepEnded, WorkerLost):
    match entry:
      case Step():
        running[entry.worker, entry.lane] = at_ps
        told_ps.pop((entry.worker, entry.lane), None)
      case StepEnded():
        lane = entry.worker, entry.lane
        running[lane] = entry.started_ps + elapsed_ps(
            entry.segments, entry.steps
        )
        told_ps[lane] = at_ps
      case WorkerLost():
        for lane in [key for key in running if key[0] == entry.worker]:
          begun_ps = running.pop(lane)
          if told_ps.get(lane, at_ps) == at_ps:
            cut.append((entry.worker, begun_ps // 1000, at_ps // 1000))
  return np.array(cut, np.int64).reshape(-1, 3).T


def figures(mishaps: Mishaps) -> dict[str, Any]:
  """Flat names for the summary."""
  away_ns = (mishaps.back_ns - mishaps.lost_ns).sum()
  return {
      "workers_lost": len(mishaps.lost_ns),
      "worker_lost_s": float(away_ns / 1e9),
      "failed_transfers": mishaps.failed_transfers,
      **{f"transfers_{kind}": n for kind, n in mishaps.harmed.items()},
      "undetected_corruptions": len(mishaps.unnoticed),
  }
