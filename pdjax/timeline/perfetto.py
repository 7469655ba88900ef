"""A run as a trace that Perfetto and chrome://tracing open.

Trace Event Format: a process for each worker and each link, a thread for each
lane of it, slices that never overlap on one lane, arrows from the prefill over
the transfer to the decode, counters. Times are microseconds from the start of
the run, to the nanosecond.
"""

import gzip
import json
import os
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import numpy as np

from pdjax import tracks
from pdjax.timeline.activity import Activity, Moved, Ran
from pdjax.timeline.gauges import GAUGES, Gauges

FILE = "trace.json.gz"

Event = dict[str, Any]


def write(
    path: str | os.PathLike, activity: Activity, gauges: Gauges | None
) -> None:
  """Writes the trace; the same run gives the same bytes."""
  told = {
      "displayTimeUnit": "ms",
      "traceEvents": list(trace_events(activity, gauges)),
  }
  text = json.dumps(told, separators=(",", ":"), allow_nan=False)
  with open(path, "wb") as file, gzip.GzipFile(
      filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0
  ) as packed:
    packed.write(text.encode())


def trace_events(
    activity: Activity, gauges: Gauges | None
) -> Iterator[Event]:
  """All events, those of a kind in order of time."""
  link_pids = {
      link: len(activity.names) + 1 + place
      for place, link in enumerate(activity.links)
  }
  yield from _names(activity, link_pids)
  for ran in sorted(activity.ran, key=lambda ran: (ran.begin_ns, ran.run)):
    yield _step(ran)
  for away in activity.absences:
    yield _slice("lost", away.worker + 1, 1, away.begin_ns, away.end_ns, {})
  lanes = lanes_of(activity.moved)
  for place, move in enumerate(activity.moved):
    pid = link_pids[move.source, move.target]
    yield from _transfer(move, pid, lanes[place])
  yield from _arrows(activity, link_pids, lanes)
  for link, pid in link_pids.items():
    yield from _link_rate(activity, link, pid)
  if gauges is not None:
    yield from _gauges(gauges)


def lanes_of(moves: Iterable[Moved]) -> list[int]:
  """A lane for each transfer, so that none overlap on one link's lane."""
  indexed = sorted(enumerate(moves), key=lambda one: one[1].begin_ns)
  free_ns: dict[tuple[int, int], list[int]] = {}
  lanes = [0] * len(indexed)
  for place, move in indexed:
    ends = free_ns.setdefault((move.source, move.target), [])
    lane = next(
        (n for n, end in enumerate(ends) if end <= move.begin_ns), len(ends)
    )
    ends[lane:lane + 1] = [move.end_ns]
    lanes[place] = lane
  return lanes


def _us(ns: int) -> float:
  return ns / 1000


def _names(
    activity: Activity, link_pids: dict[tuple[int, int], int]
) -> Iterator[Event]:
  named = {
      worker + 1: tracks.of_worker(name)
      for worker, name in enumerate(activity.names)
  } | {pid: activity.link_track(link) for link, pid in link_pids.items()}
  for pid, name in named.items():
    yield _meta("process_name", pid, {"name": name})
    yield _meta("process_sort_index", pid, {"sort_index": pid})


def _meta(name: str, pid: int, args: Event) -> Event:
  return {"ph": "M", "name": name, "pid": pid, "tid": 0, "args": args}


def _slice(
    name: str, pid: int, tid: int, begin_ns: int, end_ns: int, args: Event
) -> Event:
  return {
      "ph": "X", "name": name, "pid": pid, "tid": tid, "ts": _us(begin_ns),
      "dur": _us(end_ns - begin_ns), "args": args,
  }


def _step(ran: Ran) -> Event:
  args = {
      "run": ran.run, "steps": ran.steps, "decodes": len(ran.decode),
      "prefill_tokens": ran.prefill_tokens,
      "prefill_requests": [request for request, _ in ran.prefill],
  }
  return _slice(
      ran.kind, ran.worker + 1, ran.lane + 1, ran.begin_ns, ran.end_ns, args
  )


def _transfer(move: Moved, pid: int, lane: int) -> Iterator[Event]:
  args = {
      "request": move.request, "transfer": move.transfer,
      "bytes": move.moved_bytes, "failure": move.failure,
      "group_layers": move.group_layers,
  }
  yield _slice(tracks.TRANSFER, pid, lane + 1, move.begin_ns, move.end_ns, args)
  if move.gathered_ns is None or move.sent_ns is None:
    return
  points = (move.begin_ns, move.gathered_ns, move.sent_ns, move.end_ns)
  for place, name in enumerate(tracks.STAGES):
    yield _slice(name, pid, lane + 1, points[place], points[place + 1], {})


def _arrows(
    activity: Activity,
    link_pids: dict[tuple[int, int], int],
    lanes: list[int],
) -> Iterator[Event]:
  """Each end lies in the middle of the slice that it binds to."""
  for number, handoff in enumerate(activity.handoffs):
    move = activity.moved[handoff.move]
    prefill, decode = (
        activity.ran[place] for place in (handoff.prefill, handoff.decode)
    )
    pid = link_pids[move.source, move.target]
    for phase, at, tid, slice_ in (
        ("s", prefill.worker + 1, prefill.lane + 1, prefill),
        ("t", pid, lanes[handoff.move] + 1, move),
        ("f", decode.worker + 1, decode.lane + 1, decode),
    ):
      yield {
          "ph": phase, "bp": "e", "cat": "handoff", "name": "handoff",
          "id": number, "pid": at, "tid": tid,
          "ts": _us((slice_.begin_ns + slice_.end_ns) // 2),
          "args": {"request": handoff.request},
      }


def _link_rate(
    activity: Activity, link: tuple[int, int], pid: int
) -> Iterator[Event]:
  """Bytes a second on a link."""
  for at_ns, rate in zip(*link_rate(activity, [link]), strict=True):
    yield _counter("link bytes/s", pid, int(at_ns), round(float(rate)))


def link_rate(
    activity: Activity, links: Collection[tuple[int, int]]
) -> tuple[np.ndarray, np.ndarray]:
  """(times_ns, bytes per second from then on) of some links together.

  A transfer's own mean rate says nothing of those it shares a link with. So
  each group of transfers that overlap counts as one: its bytes over its time.
  """
  spans = sorted(
      (*_on_link(move), move.moved_bytes) for move in activity.moved
      if (move.source, move.target) in links and move.end_ns > move.begin_ns
  )
  if not spans:
    return np.empty(0, np.int64), np.empty(0)
  begin_ns, end_ns, moved_bytes = np.array(spans, np.int64).T
  over_ns = np.maximum.accumulate(end_ns)
  first = np.flatnonzero(np.append(True, begin_ns[1:] >= over_ns[:-1]))
  begins, ends = begin_ns[first], np.maximum.reduceat(end_ns, first)
  rate = np.add.reduceat(moved_bytes, first) * 1e9 / (ends - begins)
  # What begins as the last one ends takes the place of its end.
  idle = np.append(ends[:-1] < begins[1:], True)
  at_ns = np.concatenate([begins, ends[idle]])
  order = np.argsort(at_ns)
  return at_ns[order], np.append(rate, np.zeros(idle.sum()))[order]


def _on_link(move: Moved) -> tuple[int, int]:
  """(begin_ns, end_ns) between its source's pages and its target's."""
  begin = move.begin_ns if move.gathered_ns is None else move.gathered_ns
  end = move.end_ns if move.sent_ns is None else move.sent_ns
  return begin, max(end, begin + 1)


def _gauges(gauges: Gauges) -> Iterator[Event]:
  for name in GAUGES:
    table = getattr(gauges, name)
    for worker in range(table.shape[1]):
      values = table[:, worker]
      if name == "handoffs" and not values.any():
        continue  # of a worker that hands nothing off
      moves = np.flatnonzero(np.diff(values, prepend=values[0] - 1))
      for place in moves.tolist():
        yield _counter(
            name.replace("_", " "), worker + 1, int(gauges.at_ns[place]),
            int(values[place]),
        )


def _counter(name: str, pid: int, at_ns: int, value: int) -> Event:
  return {
      "ph": "C", "name": name, "pid": pid, "ts": _us(at_ns),
      "args": {"value": value},
  }
