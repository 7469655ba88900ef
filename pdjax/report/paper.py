"""A chart as files for print: SVG, PNG and PDF in the sizes of a paper.

A chart of one panel is a column wide, others have the width of the text. Same
data, same bytes: nothing in a file depends on the date.
"""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdjax.report import brush
from pdjax.report.chart import Chart, Line, Panel, Spans
from pdjax.report.scale import Scale, scales_of

if TYPE_CHECKING:
  from matplotlib.axes import Axes
  from matplotlib.figure import Figure

KINDS = ("svg", "png", "pdf")
_COLUMN_IN, _TEXT_IN = 3.35, 7.0
"""Width of a column and of a text's two columns, inches."""
_PANEL_IN, _WIDE_IN, _ROW_IN, _LINE_IN = 1.75, 1.9, 0.17, 0.16
"""Heights: of a panel, of a wide one, of a named row, of a legend's line."""
_ACROSS = 4
"""Panels beside each other at most."""
_GRID = "#e2e2e2"
_STYLE: dict[Any, Any] = {
    "font.size": 7, "axes.titlesize": 7, "axes.labelsize": 7,
    "legend.fontsize": 7, "svg.hashsalt": "pdjax", "pdf.fonttype": 42,
    "axes.linewidth": 0.6, "hatch.linewidth": 0.6, "axes.edgecolor": brush.INK,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6,
    "lines.markersize": 3.2, "svg.fonttype": "none",
}
_WITHOUT_DATE = {
    "svg": {"Date": None, "Creator": None}, "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def write(chart: Chart, stem: Path, kinds: Sequence[str] = KINDS) -> list[Path]:
  """Writes a chart's files and returns their paths.

  Args:
    stem: path of the files without suffix; its folder is made.

  Raises:
    OSError: they cannot be written.
  """
  import matplotlib

  stem.parent.mkdir(parents=True, exist_ok=True)
  paths = [stem.with_name(f"{stem.name}.{kind}") for kind in kinds]
  with matplotlib.rc_context(_STYLE):
    figure = figure_of(chart)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # once is enough for all three
    for path, kind in zip(paths, kinds, strict=True):
      figure.savefig(path, dpi=200, metadata=_WITHOUT_DATE[kind])
  return paths


def figure_of(chart: Chart) -> "Figure":
  """All panels, with one legend below them."""
  from matplotlib.figure import Figure

  across = 1 if chart.wide else min(len(chart.panels), _across(chart))
  down = -(-len(chart.panels) // across)
  width_in = _COLUMN_IN if across == 1 and not chart.wide else _TEXT_IN
  heights = [
      max(_height_in(p, chart.wide) for p in chart.panels[at : at + across])
      for at in range(0, len(chart.panels), across)
  ]
  lines = _legend_lines(chart, width_in)
  heading = _heading(chart, width_in)
  figure = Figure(
      figsize=(
          width_in,
          sum(heights) + _LINE_IN * (lines + heading.count("\n") + 1) + 0.1,
      ),
      layout="constrained",
  )
  axes = figure.subplots(down, across, squeeze=False, height_ratios=heights)
  for place, panel in enumerate(chart.panels):
    _draw(axes[place // across][place % across], panel, width_in / across)
  for place in range(len(chart.panels), down * across):
    axes[place // across][place % across].set_axis_off()
  figure.suptitle(heading, fontsize=7.5)
  _legend(figure, chart, width_in)
  return figure


def _heading(chart: Chart, width_in: float) -> str:
  words = ": ".join(filter(None, (chart.kind.upper(), chart.title)))
  return textwrap.fill(words, int(width_in * 17))


def _across(chart: Chart) -> int:
  """Tabs begin a row each."""
  first = [panel for panel in chart.panels if panel.tab == chart.panels[0].tab]
  wanted = len(first) if chart.panels[0].tab else len(chart.panels)
  named = any(panel.y.names for panel in chart.panels)
  return min(wanted, 1 if named else _ACROSS)


def _height_in(panel: Panel, wide: bool) -> float:
  if panel.y.names:
    return 0.75 + _ROW_IN * max(3, len(panel.y.names))
  return _WIDE_IN if wide else _PANEL_IN


def _columns(chart: Chart, width_in: float) -> int:
  longest = max(len(mark.label) for mark in chart.legend())
  return max(1, min(len(chart.legend()), int(width_in * 16 / (longest + 7))))


def _legend_lines(chart: Chart, width_in: float) -> int:
  shown = len(chart.legend())
  return -(-shown // _columns(chart, width_in)) if shown else 0


def _legend(figure: "Figure", chart: Chart, width_in: float) -> None:
  from matplotlib.lines import Line2D
  from matplotlib.patches import Patch

  handles = []
  for mark in chart.legend():
    if isinstance(mark, Line):
      handles.append(Line2D([], [], label=mark.label, **brush.look_of(mark)))
    else:
      look = brush.fill_of(mark.style)
      if isinstance(mark, Spans):
        look["hatch"] = None
      handles.append(Patch(label=mark.label, **look))
  if handles:
    figure.legend(
        handles=handles, loc="outside lower center", frameon=False,
        ncols=_columns(chart, width_in), handlelength=3.2,
    )


def _draw(axes: "Axes", panel: Panel, width_in: float) -> None:
  x, y = scales_of(panel)
  if panel.x.log and not x.names:
    axes.set_xscale("log")
  if panel.y.log and not y.names:
    axes.set_yscale("log")
  axes.set_xlim(x.low, x.high)
  axes.set_ylim(*((y.high, y.low) if y.names else (y.low, y.high)))
  _ticks(axes, x, y, max(3, int(2 * width_in)))
  for mark in panel.marks:
    brush.draw(axes, mark)
  for limit in panel.limits:
    brush.draw_limit(axes, limit, x if limit.along == "x" else y)
  axes.set_xlabel(panel.x.label)
  axes.set_ylabel(panel.y.label)
  axes.set_title(panel.heading, loc="left", fontweight="bold")
  axes.spines[["top", "right"]].set_visible(False)
  if panel.empty:
    axes.text(0.5, 0.5, panel.empty, transform=axes.transAxes, ha="center")


def _ticks(axes: "Axes", x: Scale, y: Scale, most: int) -> None:
  from matplotlib.ticker import NullLocator

  for axis, scale, wanted in ((axes.xaxis, x, most), (axes.yaxis, y, 5)):
    ticks = scale.ticks(wanted)
    axis.set_minor_locator(NullLocator())
    axis.set_ticks([at for at, _ in ticks], [_cut(name) for _, name in ticks])
    if not scale.names:
      axis.grid(True, color=_GRID, linewidth=0.5)
  axes.set_axisbelow(True)


def _cut(name: str) -> str:
  return name if len(name) <= 36 else f"{name[:17]}…{name[-18:]}"


