"""How many workers to prefill and how many to decode."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from pdjax.report.capacity import Goodput
from pdjax.report.chart import Axis, Chart, Line, Panel, array
from pdjax.report.life import Life
from pdjax.report.study import Design, Study

_CHART = Chart(
    name="split_frontier", title="P:D frontier",
    answers="Which split is balanced, and what binds the others?",
)


def designs_by_split(study: Study) -> list[Design]:
  """One design of each split of prefill and decode, most P last."""
  found: dict[str, Design] = {}
  for design in study.designs:
    if design.disaggregated:
      found.setdefault(_split(design), design)
  return sorted(found.values(), key=_share_of_p)


def chart(
    study: Study, found: Sequence[Goodput], lives: dict[str, Life]
) -> Chart:
  """Goodput of each split, and how busy its prefill and decode workers are.

  Args:
    lives: a run of each split's design, by the design's label.
  """
  head = dataclasses.replace(_CHART, kind=study.kind)
  designs = designs_by_split(study)
  if len(designs) < 2:
    return dataclasses.replace(
        head, absent="fewer than two splits of prefill and decode were run"
    )
  names = tuple(_split(design) for design in designs)
  panels = []
  values = array([_value(found, design) for design in designs])
  if np.isfinite(values).any():
    panels.append(Panel(
        title="goodput", x=Axis(label="split", names=names),
        y=Axis(label="requests/s/chip", low=0),
        marks=(_line("goodput", 0, values, found, designs),),
    ))
  busy = [lives.get(design.label) for design in designs]
  panels.append(Panel(
      title="busy", x=Axis(label="split", names=names),
      y=Axis(label="time in steps (%)", low=0, high=103),
      marks=tuple(
          Line(
              label=f"{role} workers", style=style,
              x=np.arange(len(designs), dtype=float),
              y=array([_busy(life, role) for life in busy]),
          )
          for style, role in ((1, "P"), (2, "D"))
      ),
  ))
  return dataclasses.replace(head, panels=tuple(panels), notes=(
      "Where P workers are the busier ones, prefill binds; where D workers"
      " are, decode does. Busy is time in steps, not use of a chip's peak."
      + (" It is read at the load of each design's goodput."
         if study.under_load else ""),
  ))


def _line(
    label: str, style: int, values: np.ndarray, found: Sequence[Goodput],
    designs: Sequence[Design],
) -> Line:
  flagged = {g.design.label for g in found if g.at.doubtful}
  return Line(
      label=label, style=style, x=np.arange(len(values), dtype=float), y=values,
      hollow=np.array([d.label in flagged for d in designs]),
  )


def _split(design: Design) -> str:
  return design.runs[0].conditions["design"]["split"]


def _share_of_p(design: Design) -> float:
  pools = design.runs[0].conditions["design"]["pools"]
  counts = {
      role: sum(p["count"] for p in pools if p["role"] == role)
      for role in "PD"
  }
  return counts["P"] / max(sum(counts.values()), 1)


def _value(found: Sequence[Goodput], design: Design) -> float | None:
  return next((g.value for g in found if g.design.label == design.label), None)


def _busy(life: Life | None, role: str) -> float | None:
  """Time in steps as a share of the arrivals' time, in per cent."""
  if life is None:
    return None
  activity = life.activity
  workers = [n for n, name in enumerate(activity.names) if name[0] == role]
  # The tail of a run says nothing about a load that goes on.
  until_ns = life.record.summary["arrival_span"] * 1e9 or activity.end_ns
  inside_ns = sum(
      max(min(ran.end_ns, until_ns) - ran.begin_ns, 0)
      for ran in activity.ran if ran.worker in workers
  )
  return 100 * inside_ns / max(until_ns * len(workers), 1)
