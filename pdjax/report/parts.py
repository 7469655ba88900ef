"""Where the time of a request went: mean parts of its life, stacked."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from pdjax.digits import plain
from pdjax.metrics.breakdown import PARTS
from pdjax.report.chart import Axis, Bars, Chart, Panel
from pdjax.report.study import Design, Point, Study

_MOST = 21
"""Rows."""
_NAMES = {
    "queue_prefill": "queue for prefill", "prefill": "prefill",
    "transfer_wait": "wait for transfer", "transfer": "transfer",
    "queue_decode": "queue for decode", "decode": "decode",
    "preempted": "preempted",
}


def chart(study: Study, designs: Sequence[Design]) -> Chart:
  """A row for each design and load."""
  head = Chart(
      name="breakdown", kind=study.kind, title="Where the time went", wide=True,
      answers="Which part of a request's life grows, and in which design?",
  )
  rows = [(d, p) for d in designs for p in _few(d.points, len(designs))]
  rows = [(d, p) for d, p in rows if p.values("mean_e2el_ms")]
  if not rows:
    return dataclasses.replace(head, absent="no request finished")
  values = np.array([
      [point.mean(f"mean_{part}_ms") for part in PARTS] for _, point in rows
  ])
  ends = np.cumsum(np.nan_to_num(values), 1)
  bars = tuple(
      Bars(
          label=_NAMES[part], style=place, row=np.arange(len(rows)),
          begin=ends[:, place] - values[:, place], end=ends[:, place],
          texts=tuple(_row(study, d, p) for d, p in rows),
      )
      for place, part in enumerate(PARTS)
      if np.nanmax(values[:, place]) > 0
  )
  panel = Panel(
      x=Axis(label="mean time of a finished request (ms)", low=0), marks=bars,
      y=Axis(label="", names=tuple(_row(study, d, p) for d, p in rows)),
  )
  return dataclasses.replace(head, panels=(panel,), notes=(
      "Means are over finished requests; transfer is what prefill did not"
      " hide.",
  ))


def _few(points: Sequence[Point], designs: int) -> list[Point]:
  """The first, the last and some between."""
  most = max(2, _MOST // designs)
  if len(points) <= most:
    return list(points)
  places = np.linspace(0, len(points) - 1, most).round().astype(int)
  return [points[place] for place in places]


def _row(study: Study, design: Design, point: Point) -> str:
  if not study.under_load or not np.isfinite(point.rate):
    return design.label
  return f"{design.label} at {plain(point.rate)}/s/chip"
