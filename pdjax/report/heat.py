"""Chunk size against rate: where on the map the SLO is kept."""

import dataclasses

import numpy as np

from pdjax.digits import plain
from pdjax.report.chart import Axis, Chart, Heat, Panel
from pdjax.report.study import Design, Study

_CHART = Chart(
    name="chunk_by_rate", title="SLO attainment by chunk size and rate",
    answers="Which chunk size keeps the SLO up to the highest rate?",
)
_MOST_PANELS = 6


def chart(study: Study) -> Chart:
  """A map for each set of designs that differ in their chunk size alone."""
  head = dataclasses.replace(_CHART, kind=study.kind)
  if not study.under_load:
    return dataclasses.replace(head, absent="all runs had one load")
  families = [
      each for each in _families(study).values() if len(_sizes(each)) > 1
  ]
  panels = tuple(_panel(study, each) for each in families[:_MOST_PANELS])
  if not panels:
    return dataclasses.replace(
        head, absent="no strategy was run with several chunk sizes"
    )
  if all(np.isnan(m.values).all() for p in panels for m in p.marks
         if isinstance(m, Heat)):
    return dataclasses.replace(head, absent="no run has an SLO attainment")
  level = f"{study.slo['attainment']:.0%}"
  return dataclasses.replace(head, panels=panels, notes=(
      f"Numbers are per cent of requests; the thick line is {level}."
      " A star marks flagged runs.",
  ))


def _sizes(designs: list[Design]) -> list[int]:
  return sorted({_size(d) for d in designs if _size(d)})


def _size(design: Design) -> int:
  return design.tree["strategy"].get("chunk_size") or 0


def _families(study: Study) -> dict[str, list[Design]]:
  """Designs by all that they are but for the chunk size."""
  found: dict[str, list[Design]] = {}
  for design in study.designs:
    if _size(design):
      tree = dict(design.tree)
      tree["strategy"] = dict(tree["strategy"], chunk_size=0)
      tree["workload"] = None
      found.setdefault(repr(sorted(tree.items())), []).append(design)
  return found


def _panel(study: Study, designs: list[Design]) -> Panel:
  sizes = _sizes(designs)
  rates = sorted({p.rate for d in designs for p in d.points})
  values = np.full((len(sizes), len(rates)), np.nan)
  hollow = np.zeros_like(values, bool)
  for design in designs:
    for point in design.points:
      place = sizes.index(_size(design)), rates.index(point.rate)
      values[place] = point.mean("slo_attainment")
      hollow[place] = point.doubtful
  # Large chunks at the top, as on an axis.
  return Panel(
      title=_title(designs[0]),
      x=Axis(label="offered requests/s/chip",
             names=tuple(plain(rate) for rate in rates)),
      y=Axis(label="chunk size (tokens)",
             names=tuple(f"{size:,}" for size in sizes[::-1])),
      marks=(Heat(
          label="slo_attainment", values=values[::-1],
          level=study.slo["attainment"], hollow=hollow[::-1],
      ),),
  )


def _title(design: Design) -> str:
  told = design.runs[0].conditions["design"]
  return f"{told['split']} {told['strategy']}"
