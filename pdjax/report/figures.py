"""Which figures a study has, in the order a reader asks for them."""

import dataclasses
from collections.abc import Callable, Sequence

from pdjax.report import (
  course,
  distributions,
  gantt,
  goodput,
  heat,
  loads,
  palette,
  pareto,
  parts,
  rates,
  scaled,
  split,
)
from pdjax.report.capacity import Goodput, goodput_of
from pdjax.report.chart import Chart
from pdjax.report.life import life_of
from pdjax.report.record import Record
from pdjax.report.study import Design, Study
from pdjax.report.verdict import Verdict, verdict_of

LONGEST_LOG_BYTES = 40 * 2**20
"""Logs that are larger on disk are not read for figures: minutes, and GB."""

Roofline = Callable[[Sequence[tuple[str, Record]]], Chart]
"""Of what prices simulated steps; a report imports no cost model."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Figures:
  """A study with its verdict and charts."""

  study: Study
  verdict: Verdict | None
  charts: tuple[Chart, ...]
  designs: tuple[Design, ...]
  """Those that line charts show."""


def figures_of(
    study: Study, roofline: Roofline, *, searched: bool = False
) -> Figures:
  """Reads the logs of as many runs as can be told apart.

  Args:
    searched: the runs are a search's, whose own goodput is the answer.
  """
  verdict = verdict_of(study)
  found = [g for d in study.designs if (g := goodput_of(study, d)) is not None]
  designs = _shown(study, verdict, found)
  focus = _focus(designs, found)
  told = _told(study, designs, verdict)
  lives = {
      label: life
      for label, record in focus.items()
      if _readable(record)
      and (life := life_of(record, gauges=label == told)) is not None
  }
  curves = [(d.label, d.style, lives[d.label]) for d in designs
            if d.label in lives]
  return Figures(
      study=study, verdict=verdict, designs=tuple(designs),
      charts=(
          goodput.chart(study, found, designs, searched=searched),
          rates.latency(study, designs),
          rates.attainment(study, designs),
          scaled.chart(study, designs, found),
          pareto.chart(study, designs),
          roofline([(d.label, focus[d.label]) for d in designs]),
          heat.chart(study),
          split.chart(study, found),
          distributions.chart(study, curves),
          parts.chart(study, designs),
          course.chart(study, told, lives.get(told)),
          gantt.chart(study, told, lives.get(told)),
          loads.chart(study),
      ),
  )


def _readable(record: Record) -> bool:
  log = record.folder / "events.parquet"
  return log.is_file() and log.stat().st_size <= LONGEST_LOG_BYTES


def _shown(
    study: Study, verdict: Verdict | None, found: Sequence[Goodput]
) -> list[Design]:
  """At most as many as can be told apart: the best of each strategy first,
  then by goodput; drawn in the order of the experiment."""
  ranked = sorted(found, key=lambda one: -one.value)
  wanted = [
      *(verdict.designs if verdict else ()), *(g.design for g in ranked),
      *study.designs,
  ]
  kept = list(dict.fromkeys(wanted))[: palette.SERIES]
  return [
      dataclasses.replace(design, style=style)
      for style, design in enumerate(d for d in study.designs if d in kept)
  ]


def _focus(
    designs: Sequence[Design], found: Sequence[Goodput]
) -> dict[str, Record]:
  """A run of each design, at the load of its goodput."""
  at = {g.design.label: g.at for g in found}
  return {
      d.label: at.get(d.label, d.points[0]).runs[0] for d in designs
  }


def _told(
    study: Study, designs: Sequence[Design], verdict: Verdict | None
) -> str:
  """The design whose run is shown along its clock: the best one that hands
  off, for there is most to see; else the best."""
  ranked = [*(verdict.designs if verdict else ()), *designs]
  moving = [design for design in ranked if design.disaggregated]
  return (moving or ranked)[0].label
