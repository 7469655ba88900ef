"""How many workers to prefill and how many to decode."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from pdjax.report.binding import binding, words
from pdjax.report.capacity import Goodput
from pdjax.report.chart import Axis, Chart, Line, Panel, array
from pdjax.report.study import Design, Study

_CHART = Chart(
    name="split_frontier", title="P:D frontier",
    answers="Which split is balanced, and what binds the others?",
)
_BUSY = (("P workers", "compute_share[P]"), ("D workers", "compute_share[D]"))
_OF_PEAK = (
    ("P: MFU of prefill", "mfu[P prefill]"),
    ("D: MBU of decode", "mbu[D decode]"),
)


def chart(study: Study, found: Sequence[Goodput]) -> Chart:
  """Goodput of each split, how busy its workers are, and how near a peak."""
  head = dataclasses.replace(_CHART, kind=study.kind)
  designs = _by_split(study)
  if len(designs) < 2:
    return dataclasses.replace(
        head, absent="fewer than two splits of prefill and decode were run"
    )
  at = {g.design.label: g for g in found}
  goodput = [at[d.label].value if d.label in at else None for d in designs]
  points = [
      at[d.label].at if d.label in at else d.points[0] for d in designs
  ]
  names = tuple(_split(design) for design in designs)
  places = np.arange(len(names), dtype=float)
  hollow = np.array([point.doubtful for point in points])

  def panel(title: str, label: str, lines: Sequence[Line]) -> Panel | None:
    known = tuple(line for line in lines if np.isfinite(line.y).any())
    return Panel(
        title=title, x=Axis(label="split", names=names), marks=known,
        y=Axis(label=label, low=0, high=103 if "%" in label else None),
    ) if known else None

  def shares(pairs: Sequence[tuple[str, str]], first: int) -> list[Line]:
    return [
        Line(
            label=label, style=style, x=places, hollow=hollow,
            y=100 * array([point.mean(key) for point in points]),
        )
        for style, (label, key) in enumerate(pairs, start=first)
    ]

  panels = (
      panel("goodput", "requests/s/chip", [Line(
          label="goodput", style=0, x=places, y=array(goodput), hollow=hollow,
      )]),
      panel("busy", "time in steps (%)", shares(_BUSY, 1)),
      panel("while busy", "of the peak (%)", shares(_OF_PEAK, 3)),
  )
  return dataclasses.replace(
      head, panels=tuple(filter(None, panels)), notes=(
          _bound(study, designs),
          "Busy is time in steps, and no measure of what binds: a decode worker"
          " is busy while anyone decodes. MFU and MBU are of the chips' peaks"
          " while they are busy: three figures, and none of them a profiler's."
          + (" All at the load of each design's goodput."
             if study.under_load else ""),
      ),
  )


def _bound(study: Study, designs: Sequence[Design]) -> str:
  told = "; ".join(words([(_split(d), binding(d)) for d in designs]))
  where = ", at the lowest load that misses it" if study.under_load else ""
  return (
      f"What binds, by what the SLO misses{where}, as python -m pdjax.diagnose"
      f" judges it: {told}."
  )


def _by_split(study: Study) -> list[Design]:
  """One design of each split of prefill and decode, most P last."""
  found: dict[str, Design] = {}
  for design in study.designs:
    if design.disaggregated:
      found.setdefault(_split(design), design)
  return sorted(found.values(), key=_share_of_p)


def _split(design: Design) -> str:
  return design.runs[0].conditions["design"]["split"]


def _share_of_p(design: Design) -> float:
  pools = design.runs[0].conditions["design"]["pools"]
  counts = {
      role: sum(p["count"] for p in pools if p["role"] == role)
      for role in "PD"
  }
  return counts["P"] / max(sum(counts.values()), 1)
