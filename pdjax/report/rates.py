"""Latency and SLO attainment against the rate of requests."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from pdjax.metrics.percentiles import needed
from pdjax.report import slolines
from pdjax.report.chart import Axis, Chart, Limit, Line, Panel, array
from pdjax.report.study import Design, Point, Study

RATE = Axis(label="offered requests/s/chip")
METRICS = ("ttft", "ttst", "tpot", "itl")
PERCENTILES = (50, 90, 99)
_SHARE = "slo_attainment"
_ONE = "all runs had one load; sweep workload.rate"


def latency(study: Study, designs: Sequence[Design]) -> Chart:
  """TTFT, TTST, TPOT and ITL, a tab for each percentile."""
  head = Chart(
      name="latency_by_rate", kind=study.kind, title="Latency against rate",
      answers="How much load can each design take before latency rises?",
  )
  if not study.under_load:
    return _without(head, _ONE)
  panels = [
      _panel(study, designs, metric, percent)
      for percent in PERCENTILES
      for metric in METRICS
  ]
  return _with(head, panels, designs)


def attainment(study: Study, designs: Sequence[Design]) -> Chart:
  """The share of all requests sent that kept the SLO."""
  head = Chart(
      name="attainment_by_rate", kind=study.kind,
      title="SLO attainment against rate",
      answers="Up to which rate does each design keep the SLO?",
  )
  if not study.under_load:
    return _without(head, _ONE)
  if not study.slo["terms"]:
    return _without(head, "the runs have no SLO")
  level = study.slo["attainment"]
  lines = tuple(
      line for design in designs
      if (line := series(design, _SHARE, 100, _share_bounds))
  )
  if not any(np.isfinite(line.y).any() for line in lines):
    return _without(head, "the SLO has no term on single requests")
  panel = Panel(
      x=RATE, y=Axis(label="requests that kept the SLO (%)", low=0, high=103),
      marks=lines,
      limits=(Limit(along="y", at=100 * level, label=f"{level:.0%}"),),
  )
  return _with(head, [panel], designs, own=any(
      len(point.runs) == 1 and None not in _share_bounds(point, _SHARE)
      for design in designs for point in design.points
  ))


def _panel(
    study: Study, designs: Sequence[Design], metric: str, percent: int
) -> Panel:
  key = f"p{percent}_{metric}_ms"
  lines = tuple(
      line for design in designs
      if (line := series(design, key, 1, _bounds))
  )
  empty = not any(np.isfinite(line.y).any() for line in lines)
  return Panel(
      tab=f"p{percent}", title=metric.upper(), x=RATE,
      y=Axis(label="ms", log=True), marks=() if empty else lines,
      limits=tuple(slolines.limits(study.slo, metric, "y", percent)),
      empty=f"n<{needed(percent)}: no p{percent}" if empty else "",
  )


_LEAST_SEEDS = 3
"""For a drawn interval: of two seeds Student's reaches from edge to edge."""

Bounds = Callable[[Point, str], tuple[float | None, float | None]]


def series(
    design: Design, key: str, scale: float, bounds: Bounds
) -> Line | None:
  """A figure of a design against its rate."""
  points = [p for p in design.points if np.isfinite(p.rate)]
  if not points:
    return None
  found = [bounds(point, key) for point in points]
  return Line(
      label=design.label, style=design.style,
      x=array([point.rate for point in points]),
      y=scale * array([point.mean(key) for point in points]),
      low=scale * array([low for low, _ in found]),
      high=scale * array([high for _, high in found]),
      hollow=np.array([point.doubtful for point in points]),
      texts=tuple(_seeds(point) for point in points),
  )


def _seeds(point: Point) -> str:
  flagged = "flagged, " if point.doubtful else ""
  count = len(point.runs)
  return f"{flagged}{count} seed" + ("" if count == 1 else "s")


def _bounds(point: Point, key: str) -> tuple[float | None, float | None]:
  found = point.interval(key)
  if found.low is None or len(point.runs) < _LEAST_SEEDS:
    return None, None
  return max(found.low, 0.5 * point.mean(key)), found.high


def _share_bounds(
    point: Point, key: str
) -> tuple[float | None, float | None]:
  """Over seeds; of one run those that it gives itself."""
  if len(point.runs) == 1:
    row = point.runs[0].summary
    return row.get(f"{key}_low"), row.get(f"{key}_high")
  found = point.interval(key)
  if None in (found.low, found.high) or len(point.runs) < _LEAST_SEEDS:
    return None, None
  assert found.low is not None and found.high is not None
  return max(found.low, 0.0), min(found.high, 1.0)


def _with(
    head: Chart, panels: Sequence[Panel], designs: Sequence[Design], *,
    own: bool = False,
) -> Chart:
  """`own`: some points of one run have bars that it gives itself."""
  points = [point for design in designs for point in design.points]
  notes = []
  if any(point.doubtful for point in points):
    notes.append("Hollow points are of flagged runs.")
  if max(len(point.runs) for point in points) > 1:
    notes.append(f"Points are means over seeds; {_bars(points)}.")
  if own:
    notes.append(
        "Bars of a point of one seed are 95 % intervals from that run's own"
        " batches."
    )
  return dataclasses.replace(head, panels=tuple(panels), notes=tuple(notes))


def _bars(points: Sequence[Point]) -> str:
  """Which points of several seeds have bars."""
  enough = [len(point.runs) >= _LEAST_SEEDS for point in points]
  if not any(enough):
    return f"none has bars: 95 % intervals take {_LEAST_SEEDS} seeds"
  return f"bars, of points of {_LEAST_SEEDS} seeds or more, 95 % intervals"


def _without(head: Chart, reason: str) -> Chart:
  return dataclasses.replace(head, absent=reason)
