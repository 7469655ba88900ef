"""A report as one HTML file that needs nothing else: no network, no server."""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from pdjax.digits import plain
from pdjax.metrics.provenance import repeat_command
from pdjax.report import drawn, marks, runtable, slolines, svg
from pdjax.report.chart import Chart, Panel
from pdjax.report.figures import Figures
from pdjax.report.heading import model_words, prices_words, workload_words
from pdjax.report.palette import COLOURS, DARK
from pdjax.report.record import Failed, Record
from pdjax.report.searched import Search
from pdjax.report.study import Study

MADE_FROM = "pdjax-made-from"
"""Name of the page's note of what it shows."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
  """What a page shows."""

  name: str
  question: str = ""
  records: Sequence[Record]
  failed: Sequence[Failed] = ()
  figures: Sequence[Figures] = ()
  search: Search | None = None
  more_studies: int = 0
  """Studies that are in the table alone."""
  folder: Path = Path()
  """Of the results; the page's commands are for it as the current one."""
  made_from: str = ""

  def repeat(self, record: Record) -> str:
    """The command that does a run again."""
    inside = record.folder.is_relative_to(self.folder)
    folder = record.folder.relative_to(self.folder) if inside else record.folder
    return repeat_command(folder)

  def named_charts(self) -> Iterator[tuple[str, Chart]]:
    """All that show something, with the names of their files."""
    if self.search:
      yield self.search.chart.name, self.search.chart
    for number, one in enumerate(self.figures, start=1):
      several = f"_{number}" if len(self.figures) > 1 else ""
      for chart in one.charts:
        if not chart.absent:
          yield f"{chart.name}{several}", chart


def html_of(report: Report) -> str:
  """The page's text; equal reports are equal bytes."""
  import jinja2

  environment = jinja2.Environment(
      autoescape=True, trim_blocks=True, lstrip_blocks=True,
      keep_trailing_newline=True,
      undefined=jinja2.StrictUndefined,
      loader=jinja2.FunctionLoader(_file),
  )
  environment.filters |= {
      "svg": _svg, "sample": _sample, "slo": slolines.sentence,
      "tabs": _tabs, "workload": workload_words, "anchor": anchor,
      "model": model_words, "prices": prices_words,
      "figure_word": runtable.word, "plain": plain,
  }
  return environment.get_template("page.html").render(
      report=report, style=_file("page.css"), script=_file("page.js"),
      colours=list(zip(COLOURS, DARK, strict=True)),
      table=runtable.table_of(report.records), made_from_name=MADE_FROM,
      differences=runtable.differences(report.records),
      conditions=[_conditions(one) for one in report.figures],
      shown_words=_shown,
  )


def _file(name: str) -> str:
  return resources.files("pdjax.report").joinpath(name).read_text("utf-8")


def _svg(panel: Panel, chart: Chart):
  from markupsafe import Markup

  return Markup(svg.drawn(panel, wide=chart.wide))


def _sample(mark):
  from markupsafe import Markup

  return Markup(marks.sample(mark))


def _tabs(chart: Chart) -> list[str]:
  return list(dict.fromkeys(p.tab for p in chart.panels if p.tab))


def anchor(*words: object) -> str:
  """An id within the page."""
  text = "-".join(map(str, words))
  return f"a{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def _conditions(figures: Figures) -> Mapping[str, Any]:
  """A study's contract, flat; what differs between its runs says so."""
  runs = figures.study.runs
  names = dict.fromkeys(name for run in runs for name in run.contract)
  return {name: _values(name, runs) for name in names}


def _shown(study: Study) -> str:
  """Which draw of its costs a study's figures are of."""
  others = [run for run in study.drawn if run not in study.runs]
  return drawn.shown_words([*study.runs, *others])


def _values(name: str, runs: Sequence[Record]) -> str:
  each = list(dict.fromkeys(
      runtable.word(run.contract.get(name)) for run in runs
  ))
  shown = ", ".join(each[:6])
  return shown if len(each) <= 6 else f"{shown}, … ({len(each)} values)"
