"""What each worker and link did in a stretch of time, with its hand-offs."""

import dataclasses

import numpy as np

from pdjax.digits import plain
from pdjax.report.chart import Arrows, Axis, Chart, Mark, Panel, Spans
from pdjax.report.life import UNREAD, Life
from pdjax.report.study import Study
from pdjax.timeline.activity import Activity, Moved, Ran

_SPANS = 240
"""Drawn at most; a longer run is cut to a stretch from its middle."""
_ROWS = 40
_STYLES = {"prefill": 0, "mixed": 4, "decode": 1, "transfer": 2}


def chart(study: Study, label: str, life: Life | None) -> Chart:
  """A row for each worker and each link."""
  head = Chart(
      name="gantt", kind=study.kind, title=f"Workers and links: {label}",
      answers="Who works, who waits, and what does a hand-off cost?", wide=True,
  )
  if life is None:
    return dataclasses.replace(head, absent=UNREAD)
  if not life.activity.ran:
    return dataclasses.replace(head, absent="no step was run")
  activity = life.activity
  begin_ns, end_ns = _stretch(activity)
  rows = _rows(activity)[:_ROWS]
  panel = Panel(
      x=Axis(label="time (s)", low=begin_ns / 1e9, high=end_ns / 1e9),
      y=Axis(label="", names=tuple(rows)),
      marks=tuple(_marks(activity, rows, begin_ns, end_ns)),
  )
  whole = begin_ns == 0 and end_ns == activity.end_ns
  notes = [] if whole else [
      f"From {plain(begin_ns / 1e9)} s to {plain(end_ns / 1e9)} s of"
      f" {plain(activity.end_ns / 1e9)} s; `python -m pdjax.report RUN_FOLDER`"
      " writes all of it as trace.json.gz for Perfetto."
  ]
  if len(_rows(activity)) > len(rows):
    notes.append(f"The first {len(rows)} workers and links are shown.")
  return dataclasses.replace(head, panels=(panel,), notes=tuple(notes))


def _stretch(activity: Activity) -> tuple[int, int]:
  """All of a short run; else as much around the middle as can be shown."""
  spans = sorted(
      [(ran.begin_ns, ran.end_ns) for ran in activity.ran]
      + [(move.begin_ns, move.end_ns) for move in activity.moved]
  )
  if len(spans) <= _SPANS:
    return 0, activity.end_ns
  first = (len(spans) - _SPANS) // 2
  return spans[first][0], spans[first + _SPANS][0]


def _rows(activity: Activity) -> list[str]:
  """Links stand between who sends and who receives."""
  links = [activity.link_track(link) for link in activity.links]
  receive = [name for name in activity.names if name[0] == "D"]
  send = [name for name in activity.names if name[0] != "D"]
  return [*send, *links, *receive]


def _marks(
    activity: Activity, rows: list[str], begin_ns: int, end_ns: int
) -> list[Mark]:
  at = {name: row for row, name in enumerate(rows)}
  workers = {n: at[w] for n, w in enumerate(activity.names) if w in at}
  links = {
      link: at[name] for link in activity.links
      if (name := activity.link_track(link)) in at
  }
  ran = [
      r for r in activity.ran
      if r.end_ns > begin_ns and r.begin_ns < end_ns and r.worker in workers
  ]
  moved = [
      m for m in activity.moved
      if m.end_ns > begin_ns and m.begin_ns < end_ns
      and (m.source, m.target) in links
      and m.source in workers and m.target in workers
  ]
  clip = (begin_ns, end_ns)
  marks: list[Mark] = [
      _ran(kind, [r for r in ran if r.kind == kind], workers, clip)
      for kind in ("prefill", "mixed", "decode")
      if any(r.kind == kind for r in ran)
  ]
  if moved:
    marks.append(_moved(moved, links, clip))
    marks.append(_arrows(activity, links, workers, moved))
  return marks


def _ran(
    kind: str, runs: list[Ran], workers: dict[int, int], clip: tuple[int, int]
) -> Spans:
  return _spans(kind, [
      (workers[r.worker], r.begin_ns, r.end_ns, _said(r)) for r in runs
  ], clip)


def _said(ran: Ran) -> str:
  told = []
  if ran.prefill:
    told.append(f"{ran.prefill_tokens} prompt tokens")
  if ran.decode:
    told.append(f"{len(ran.decode)} decodes × {ran.steps}")
  return ", ".join(told)


def _moved(
    moves: list[Moved], links: dict[tuple[int, int], int],
    clip: tuple[int, int],
) -> Spans:
  return _spans("transfer", [
      (
          links[m.source, m.target], m.begin_ns, m.end_ns,
          _carried(m),
      )
      for m in moves
  ], clip)


def _carried(move: Moved) -> str:
  told = [f"request {move.request}: {plain(move.moved_bytes / 1e6)} MB"]
  if move.group_layers:
    told.append("layer by layer, computing included")
  return " ".join([*told, *([move.failure] if move.failure else [])])


def _spans(
    kind: str, found: list[tuple[int, int, int, str]], clip: tuple[int, int]
) -> Spans:
  rows, begins, ends, texts = zip(*found, strict=True)
  return Spans(
      label=kind, style=_STYLES[kind], row=np.array(rows),
      begin=np.maximum(begins, clip[0]) / 1e9,
      end=np.minimum(ends, clip[1]) / 1e9, texts=texts,
  )


def _arrows(
    activity: Activity, links: dict[tuple[int, int], int],
    workers: dict[int, int], moves: list[Moved],
) -> Arrows:
  """From the end of the prefill to the transfer, and on to the decode."""
  shown = {move.transfer for move in moves}
  points = []
  for handoff in activity.handoffs:
    move = activity.moved[handoff.move]
    if move.transfer not in shown:
      continue
    link = links[move.source, move.target]
    source, target = workers[move.source], workers[move.target]
    points.append((move.begin_ns, source, move.begin_ns, link))
    points.append((move.end_ns, link, move.end_ns, target))
  x0, row0, x1, row1 = np.array(points, np.int64).reshape(-1, 4).T
  return Arrows(
      label="hand-off", x0=x0 / 1e9, row0=row0, x1=x1 / 1e9, row1=row1
  )
