"""Marks drawn on the axes of a figure for print."""

from typing import TYPE_CHECKING, Any

import numpy as np

from pdjax.report import palette
from pdjax.report.chart import Arrows, Bars, Heat, Limit, Line, Mark, Spans
from pdjax.report.scale import Scale

if TYPE_CHECKING:
  from matplotlib.axes import Axes

INK = "#222222"
_HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "||||")
"""What tells bars apart in grey."""


def look_of(mark: Line) -> dict[str, Any]:
  strokes = palette.dash(mark.style)
  broken = strokes and (mark.dashed is None or mark.dashed)
  shape = palette.marker(mark.style)
  corners = [(x, -y) for x, y in (*shape, shape[0])] if shape else "o"
  return {
      "color": palette.colour(mark.style), "linewidth": 1.1,
      "linestyle": ((0, strokes) if broken else "-") if mark.joined else "none",
      "marker": corners if mark.marked else "none",
  }


def fill_of(style: int) -> dict[str, Any]:
  return {
      "facecolor": palette.colour(style), "edgecolor": "white",
      "linewidth": 0.3,
      "hatch": _HATCHES[style % palette.SERIES] or None,
  }


def draw(axes: "Axes", mark: Mark) -> None:
  match mark:
    case Line():
      _line(axes, mark)
    case Bars():
      _bars(axes, mark)
    case Spans():
      for row in np.unique(mark.row):
        mine = mark.row == row
        axes.broken_barh(
            list(zip(mark.begin[mine], (mark.end - mark.begin)[mine],
                     strict=True)),
            (row - 0.38, 0.76), facecolors=palette.colour(mark.style),
            edgecolors="white", linewidths=0.1,
        )
    case Heat():
      _heat(axes, mark)
    case Arrows():
      axes.plot(
          np.stack([mark.x0, mark.x1]), np.stack([mark.row0, mark.row1]),
          color=INK, linewidth=0.4, alpha=0.7,
      )


def _line(axes: "Axes", mark: Line) -> None:
  look = look_of(mark)
  line: dict[str, Any] = look | {"marker": "none"}
  line["drawstyle"] = "steps-post" if mark.steps else "default"
  axes.plot(mark.x, mark.y, **line)
  hollow = np.zeros(len(mark.x), bool) if mark.hollow is None else mark.hollow
  if mark.marked:
    for inside, chosen in ((look["color"], ~hollow), ("white", hollow)):
      own: dict[str, Any] = {"linestyle": "none", "markerfacecolor": inside}
      axes.plot(mark.x[chosen], mark.y[chosen], **(look | own))
  if mark.low is not None and mark.high is not None:
    axes.vlines(mark.x, mark.low, mark.high, color=look["color"], linewidth=0.8)
  if mark.written:
    for x, y, text in zip(mark.x, mark.y, mark.texts, strict=True):
      axes.annotate(text, (x, y), (3, 3), textcoords="offset points",
                    fontsize=5.5)


def _bars(axes: "Axes", mark: Bars) -> None:
  hollow = np.zeros(len(mark.row), bool) if mark.hollow is None else mark.hollow
  fill = fill_of(mark.style)
  for chosen, look in (
      (~hollow, fill),
      (hollow, fill | {"facecolor": "white", "hatch": None, "linewidth": 1,
                       "edgecolor": palette.colour(mark.style)}),
  ):
    axes.barh(
        mark.row[chosen], (mark.end - mark.begin)[chosen],
        left=mark.begin[chosen], height=0.7, **look,
    )
  if mark.low is not None and mark.high is not None:
    axes.hlines(mark.row, mark.low, mark.high, color=INK, linewidth=0.8)


def _heat(axes: "Axes", mark: Heat) -> None:
  axes.imshow(
      np.ma.masked_invalid(mark.values), cmap="Blues", vmin=-0.1, vmax=1.4,
      aspect="auto", origin="upper",
  )
  for (row, column), value in np.ndenumerate(mark.values):
    if np.isfinite(value):
      star = "*" if mark.hollow[row, column] else ""
      axes.text(column, row, f"{100 * value:.0f}{star}", ha="center",
                va="center", fontsize=6)
  for x0, y0, x1, y1 in mark.borders():
    axes.plot([x0, x1], [y0, y1], color=INK, linewidth=1.5)


def draw_limit(axes: "Axes", limit: Limit, scale: Scale) -> None:
  if not 0 <= float(scale.place(limit.at)) <= 1:
    return
  look: dict[str, Any] = {
      "color": "#555555", "linewidth": 0.8, "linestyle": (0, (2, 2)),
  }
  if limit.along == "x":
    axes.axvline(limit.at, **look)
    right = float(scale.place(limit.at)) > 0.5
    axes.annotate(
        limit.label, (limit.at, 0), (-2 if right else 2, 3),
        xycoords=("data", "axes fraction"), textcoords="offset points",
        ha="right" if right else "left", va="bottom", fontsize=5.5,
    )
  else:
    axes.axhline(limit.at, **look)
    axes.annotate(
        limit.label, (1, limit.at), (-2, 2),
        xycoords=("axes fraction", "data"), textcoords="offset points",
        ha="right", va="bottom", fontsize=5.5,
    )
