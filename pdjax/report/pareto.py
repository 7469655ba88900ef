"""Speed for one user against output of one chip."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from pdjax.digits import plain
from pdjax.report import palette
from pdjax.report.chart import Axis, Chart, Line, Panel, array
from pdjax.report.study import Design, Point, Study


def chart(study: Study, designs: Sequence[Design]) -> Chart:
  """A point a load: right is faster for a user, up is more for a chip."""
  head = Chart(
      name="pareto", kind=study.kind,
      title="Tokens/s/user against tokens/s/chip",
      answers="What does a faster answer cost in throughput?",
  )
  lines = tuple(line for d in designs if (line := _line(d)) is not None)
  if not lines:
    return dataclasses.replace(
        head, absent="no run has a time per output token"
    )
  # Its grey is the last design's; who needs seven designs sees no front.
  front = _front(lines) if len(lines) < palette.SERIES else ()
  panel = Panel(
      x=Axis(label="output tokens/s/user (1 / mean TPOT)", low=0),
      y=Axis(label="output tokens/s/chip", low=0), marks=(*front, *lines),
  )
  return dataclasses.replace(head, panels=(panel,), notes=(
      "Throughput counts the ramp and the tail of a run, so it is comparable"
      " at one load only." + (
          " The thin line joins what nothing beats in both." if front else ""
      ),
  ))


def _line(design: Design) -> Line | None:
  points = [p for p in design.points if _user(p) is not None]
  if not points:
    return None
  return Line(
      label=design.label, style=design.style,
      x=array([_user(point) for point in points]),
      y=array([_chip(point) for point in points]),
      hollow=np.array([point.doubtful for point in points]),
      texts=tuple(
          f"{plain(point.rate)}/s/chip" if np.isfinite(point.rate) else ""
          for point in points
      ),
  )


def _user(point: Point) -> float | None:
  tpot_ms = point.mean("mean_tpot_ms")
  return 1e3 / tpot_ms if tpot_ms > 0 else None


def _chip(point: Point) -> float:
  chips = point.runs[0].summary["chips"]
  return point.mean("output_throughput") / chips


def _front(lines: Sequence[Line]) -> tuple[Line, ...]:
  """What no other point beats in both directions."""
  xs = np.concatenate([line.x for line in lines])
  ys = np.concatenate([line.y for line in lines])
  order = np.argsort(-xs, kind="stable")
  best = np.maximum.accumulate(ys[order])
  kept = order[np.diff(best, prepend=-np.inf) > 0]
  if len(kept) < 2:
    return ()
  return (Line(
      label="best of all", style=6, x=xs[kept], y=ys[kept], marked=False,
      dashed=False,
  ),)
