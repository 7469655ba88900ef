"""A figure as data: what is drawn, not how.

A chart is some panels; a panel is two axes and marks on them. `svg` draws it
for the page, `paper` for print, `datafile` writes the plotted numbers; none of
them computes any. Arrays of a mark have one entry a point and are plain floats
in the units that the axes name; NaN is a gap.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

Row = dict[str, Any]
"""Of a data file."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Axis:
  """One direction of a panel."""

  label: str
  """With the unit."""
  log: bool = False
  low: float | None = None
  """Where it must begin; None fits what is drawn. So with `high`."""
  high: float | None = None
  names: tuple[str, ...] = ()
  """Of positions 0, 1, ...: a row or column each."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Line:
  """Points of one series, joined or not."""

  label: str
  style: int
  x: np.ndarray
  y: np.ndarray
  joined: bool = True
  marked: bool = True
  """Whether each point has a marker."""
  steps: bool = False
  """Whether a value holds until the next point."""
  dashed: bool | None = None
  """Whether strokes are broken; None: as the style has it."""
  hollow: np.ndarray | None = None
  """Points of flagged runs."""
  low: np.ndarray | None = None
  """Interval of y, NaN where there is none. So with `high`."""
  high: np.ndarray | None = None
  texts: tuple[str, ...] = ()
  """What each point is, for who looks closer."""
  written: bool = False
  """Whether the texts stand beside the points."""

  def rows(self) -> Iterator[Row]:
    for place, (x, y) in enumerate(zip(self.x, self.y, strict=True)):
      yield {
          "series": self.label,
          "x": x,
          "y": y,
          "low": None if self.low is None else self.low[place],
          "high": None if self.high is None else self.high[place],
          "flagged": self.hollow is not None and bool(self.hollow[place]),
          "what": self.texts[place] if self.texts else "",
      }


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Bars:
  """Horizontal bars of one series, a row each."""

  label: str
  style: int
  row: np.ndarray
  begin: np.ndarray
  end: np.ndarray
  hollow: np.ndarray | None = None
  low: np.ndarray | None = None
  high: np.ndarray | None = None
  texts: tuple[str, ...] = ()

  def rows(self) -> Iterator[Row]:
    for place, row in enumerate(self.row):
      yield {
          "series": self.label,
          "x": self.end[place] - self.begin[place],
          "row": int(row),
          "low": None if self.low is None else self.low[place],
          "high": None if self.high is None else self.high[place],
          "flagged": self.hollow is not None and bool(self.hollow[place]),
          "what": self.texts[place] if self.texts else "",
      }


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Heat:
  """A value in each cell of named columns and rows; NaN is an empty one."""

  label: str
  values: np.ndarray
  """[rows, columns], in [0, 1]."""
  level: float
  """A border is drawn between cells at or above it and the others."""
  hollow: np.ndarray

  def rows(self) -> Iterator[Row]:
    for (row, column), value in np.ndenumerate(self.values):
      yield {
          "series": self.label, "column": column, "row": row, "y": value,
          "flagged": bool(self.hollow[row, column]),
      }

  def borders(self) -> Iterator[tuple[float, float, float, float]]:
    """(x0, y0, x1, y1) between neighbours on two sides of the level."""
    above = self.values >= self.level
    known = ~np.isnan(self.values)
    for row, column in np.ndindex(*self.values.shape):
      here = above[row, column]
      for down, right in ((1, 0), (0, 1)):
        there = row + down, column + right
        if there[0] == above.shape[0] or there[1] == above.shape[1]:
          continue
        if known[row, column] and known[there] and here != above[there]:
          yield (
              column + right - 0.5, row + down - 0.5, column + 0.5, row + 0.5
          )


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Spans:
  """Stretches of x, each in a row, of one series."""

  label: str
  style: int
  row: np.ndarray
  begin: np.ndarray
  end: np.ndarray
  texts: tuple[str, ...] = ()

  def rows(self) -> Iterator[Row]:
    for place, row in enumerate(self.row):
      yield {
          "series": self.label, "row": int(row),
          "begin": self.begin[place], "end": self.end[place],
          "what": self.texts[place] if self.texts else "",
      }


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Arrows:
  """From a point in one row to a point in another."""

  label: str
  x0: np.ndarray
  row0: np.ndarray
  x1: np.ndarray
  row1: np.ndarray

  def rows(self) -> Iterator[Row]:
    for place, x0 in enumerate(self.x0):
      yield {
          "series": self.label, "row": int(self.row0[place]),
          "to_row": int(self.row1[place]),
          "begin": x0, "end": self.x1[place],
      }


Mark = Line | Bars | Heat | Spans | Arrows


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limit:
  """A straight line across a panel, such as an SLO's."""

  along: Literal["x", "y"]
  """The axis that it stands at a value of."""
  at: float
  label: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Panel:
  """One set of axes."""

  title: str = ""
  x: Axis
  y: Axis
  marks: tuple[Mark, ...]
  limits: tuple[Limit, ...] = ()
  tab: str = ""
  """Panels with tabs are shown one tab at a time on a screen."""
  empty: str = ""
  """Said where there is nothing to draw."""

  def rows(self) -> Iterator[Row]:
    for mark in self.marks:
      for row in mark.rows():
        named = _named(row, "row", self.y) | _named(row, "to_row", self.y)
        yield {"panel": self.heading} | row | named | _named(
            row, "column", self.x
        )

  @property
  def heading(self) -> str:
    return " ".join(filter(None, (self.tab, self.title)))


def _named(row: Row, key: str, axis: Axis) -> Row:
  names = axis.names
  return {key: names[row[key]]} if key in row and names else {}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chart:
  """A figure, or why there is none."""

  name: str
  """Of its files."""
  title: str
  answers: str
  """The question that it answers, in a sentence."""
  kind: str = ""
  """`measured` or `simulated`: one of them, never both."""
  panels: tuple[Panel, ...] = ()
  wide: bool = False
  """Whether a panel takes the whole width."""
  notes: tuple[str, ...] = ()
  absent: str = ""
  """Why there is nothing to show."""

  def rows(self) -> Iterator[Row]:
    for panel in self.panels:
      for row in panel.rows():
        yield {"kind": self.kind} | row

  def legend(self) -> list[Line | Bars | Spans]:
    """One mark a series, in order; a single one needs no legend."""
    marks = [
        mark
        for panel in self.panels
        for mark in panel.marks
        if isinstance(mark, (Line, Bars, Spans)) and mark.label
    ]
    first = {mark.label: mark for mark in reversed(marks)}
    named = [first[label] for label in dict.fromkeys(m.label for m in marks)]
    return named if len(named) > 1 else []


def array(values: Sequence[float | None] | np.ndarray) -> np.ndarray:
  """Floats, with NaN for what there is not."""
  return np.array(
      [np.nan if value is None else value for value in values], np.float64
  )
