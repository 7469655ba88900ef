"""Marks as elements of SVG: points, lines, bars, spans, maps, arrows.

Colours are classes `s0`, `s1`, ..., which the page gives a value.
"""

import dataclasses
import html
from collections.abc import Iterator

import numpy as np

from pdjax.report import palette
from pdjax.report.chart import Arrows, Bars, Heat, Line, Mark, Spans
from pdjax.report.scale import Scale, number

_RADIUS = 3.2
"""Of a marker."""


def tag(name: str, content: str = "", **attributes: object) -> str:
  """An element; `class_` is written `class`, numbers are rounded."""
  told = "".join(
      f' {key.rstrip("_").replace("_", "-")}="{_word(value)}"'
      for key, value in attributes.items()
      if value is not None
  )
  return f"<{name}{told}>{content}</{name}>" if content else f"<{name}{told}/>"


def _word(value: object) -> str:
  if isinstance(value, float):
    return f"{value:.1f}".removesuffix(".0")
  return html.escape(str(value))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Frame:
  """Where a panel's scales lie."""

  x: Scale
  y: Scale
  left: float
  right: float
  top: float
  bottom: float

  def across(self, values: np.ndarray | float) -> np.ndarray:
    share = np.clip(self.x.place(values), -0.02, 1.02)
    return self.left + share * (self.right - self.left)

  def down(self, values: np.ndarray | float) -> np.ndarray:
    """Values grow upwards, named rows downwards."""
    share = np.clip(self.y.place(values), -0.02, 1.02)
    height = self.bottom - self.top
    return self.top + height * (share if self.y.names else 1 - share)


def text(
    words: str, x: float, y: float, anchor: str = "start", class_: str = "",
    **more: object,
) -> str:
  return tag(
      "text", html.escape(words), x=float(x), y=float(y),
      text_anchor=None if anchor == "start" else anchor,
      class_=class_ or None, **more,
  )


def drawn(mark: Mark, frame: Frame) -> Iterator[str]:
  match mark:
    case Line():
      yield from _line(mark, frame)
    case Bars():
      yield from _bars(mark, frame)
    case Spans():
      yield from _spans(mark, frame)
    case Heat():
      yield from _heat(mark, frame)
    case Arrows():
      yield from _arrows(mark, frame)


def _line(mark: Line, frame: Frame) -> Iterator[str]:
  xs, ys = frame.across(mark.x), frame.down(mark.y)
  style = f"s{mark.style % palette.SERIES}"
  if mark.joined:
    broken = mark.dashed is None or mark.dashed
    strokes = " ".join(f"{n:g}" for n in palette.dash(mark.style))
    yield tag(
        "path", d=_path(xs, ys, mark.steps), class_=f"line {style}",
        stroke_dasharray=strokes if strokes and broken else None,
    )
  if mark.low is not None and mark.high is not None:
    yield from _whiskers(xs, frame.down(mark.low), frame.down(mark.high), style)
  if not mark.marked:
    return
  for place, (x, y) in enumerate(zip(xs, ys, strict=True)):
    if np.isfinite(x) and np.isfinite(y):
      hollow = mark.hollow is not None and bool(mark.hollow[place])
      yield marker(mark.style, x, y, hollow, _said(mark, place))
      if mark.written and mark.texts:
        yield text(mark.texts[place], x + 6, y - 5, class_="small")


def _said(mark: Line, place: int) -> str:
  point = f"{number(mark.x[place])}, {number(mark.y[place])}"
  return ": ".join(filter(None, (
      mark.label, mark.texts[place] if mark.texts else "", point,
  )))


def _path(xs: np.ndarray, ys: np.ndarray, steps: bool) -> str:
  """A path that is broken where a point is missing."""
  words, before = [], None
  for x, y in zip(xs, ys, strict=True):
    if not (np.isfinite(x) and np.isfinite(y)):
      before = None
      continue
    if before is None:
      words.append(f"M{x:.1f} {y:.1f}")
    else:
      words.append(f"H{x:.1f}V{y:.1f}" if steps else f"L{x:.1f} {y:.1f}")
    before = x
  return "".join(words)


def _whiskers(
    xs: np.ndarray, lows: np.ndarray, highs: np.ndarray, style: str
) -> Iterator[str]:
  for x, low, high in zip(xs, lows, highs, strict=True):
    if np.isfinite(low) and np.isfinite(high):
      yield tag(
          "path", class_=f"whisker {style}",
          d=f"M{x - 3:.1f} {low:.1f}h6M{x - 3:.1f} {high:.1f}h6"
            f"M{x:.1f} {low:.1f}V{high:.1f}",
      )


def marker(style: int, x: float, y: float, hollow: bool, said: str = "") -> str:
  """A point of a series; a flagged run's is hollow."""
  classes = f"{'hollow' if hollow else 'point'} s{style % palette.SERIES}"
  title = tag("title", html.escape(said)) if said else ""
  corners = palette.marker(style)
  if not corners:
    return tag("circle", title, cx=float(x), cy=float(y), r=_RADIUS,
               class_=classes)
  points = " ".join(
      f"{x + _RADIUS * dx:.1f},{y + _RADIUS * dy:.1f}" for dx, dy in corners
  )
  return tag("polygon", title, points=points, class_=classes)


def _bars(mark: Bars, frame: Frame) -> Iterator[str]:
  begins, ends = frame.across(mark.begin), frame.across(mark.end)
  ys = frame.down(mark.row.astype(float))
  style = f"s{mark.style % palette.SERIES}"
  for place, (begin, end, y) in enumerate(zip(begins, ends, ys, strict=True)):
    if not np.isfinite(end):
      continue
    hollow = mark.hollow is not None and bool(mark.hollow[place])
    size = number(mark.end[place] - mark.begin[place])
    said = ": ".join(filter(None, (
        mark.label, mark.texts[place] if mark.texts else "", size,
    )))
    yield tag(
        "rect", tag("title", html.escape(said)), x=float(begin), y=float(y - 7),
        width=max(float(end - begin), 0.5), height=14,
        class_=f"{'hollow' if hollow else 'bar'} {style}",
    )
  if mark.low is None or mark.high is None:
    return
  lows, highs = frame.across(mark.low), frame.across(mark.high)
  for y, low, high in zip(ys, lows, highs, strict=True):
    if np.isfinite(low) and np.isfinite(high):
      yield tag(
          "path", class_="error",
          d=f"M{low:.1f} {y - 4:.1f}v8M{high:.1f} {y - 4:.1f}v8"
            f"M{low:.1f} {y:.1f}H{high:.1f}",
      )


def _spans(mark: Spans, frame: Frame) -> Iterator[str]:
  begins, ends = frame.across(mark.begin), frame.across(mark.end)
  ys = frame.down(mark.row.astype(float))
  boxes = []
  for place, (begin, end, y) in enumerate(zip(begins, ends, ys, strict=True)):
    said = html.escape(mark.texts[place]) if mark.texts else ""
    boxes.append(tag(
        "rect", tag("title", said) if said else "", x=float(begin),
        y=float(y - 8), width=max(float(end - begin), 0.4), height=16,
    ))
  yield tag("g", "".join(boxes), class_=f"span s{mark.style % palette.SERIES}")


def _heat(mark: Heat, frame: Frame) -> Iterator[str]:
  across = float(frame.across(1.0) - frame.across(0.0))
  down = float(frame.down(1.0) - frame.down(0.0))
  for (row, column), value in np.ndenumerate(mark.values):
    x, y = float(frame.across(column)), float(frame.down(row))
    known = bool(np.isfinite(value))
    yield tag(
        "rect", x=x - across / 2 + 1, y=y - down / 2 + 1, width=across - 2,
        height=down - 2, class_="cell" if known else "nocell",
        style=f"fill-opacity:{0.08 + 0.62 * value:.2f}" if known else None,
    )
    if known and across > 26:
      star = "*" if mark.hollow[row, column] else ""
      yield text(f"{100 * value:.0f}{star}", x, y + 4, "middle")
  for x0, y0, x1, y1 in mark.borders():
    (x0, x1), (y0, y1) = frame.across(np.array([x0, x1])), frame.down(
        np.array([y0, y1])
    )
    yield tag("path", d=f"M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}",
              class_="contour")


def _arrows(mark: Arrows, frame: Frame) -> Iterator[str]:
  ends = (mark.x0, mark.row0, mark.x1, mark.row1)
  path = ""
  for x0, row0, x1, row1 in zip(*ends, strict=True):
    xs = frame.across(np.array([x0, x1]))
    ys = frame.down(np.array([row0, row1], float))
    side = 8 if ys[1] > ys[0] else -8
    path += (
        f"M{xs[0]:.1f} {ys[0] + side:.1f}L{xs[1]:.1f} {ys[1] - side:.1f}"
        f"m-2.5 {-np.sign(side) * 4:.0f}l2.5 {np.sign(side) * 4:.0f}"
        f"l2.5 {-np.sign(side) * 4:.0f}"
    )
  yield tag("path", d=path, class_="arrow")


def sample(mark: Line | Bars | Spans) -> str:
  """What a legend shows of a series."""
  style = f"s{mark.style % palette.SERIES}"
  if not isinstance(mark, Line):
    kind = "bar" if isinstance(mark, Bars) else "span"
    inside = tag("rect", x=2, y=2, width=18, height=8, class_=f"{kind} {style}")
  else:
    strokes = " ".join(f"{n:g}" for n in palette.dash(mark.style))
    broken = mark.dashed is None or mark.dashed
    inside = tag(
        "path", d="M0 6H30", class_=f"line {style}",
        stroke_dasharray=strokes if strokes and broken else None,
    ) if mark.joined else ""
    inside += marker(mark.style, 15, 6, False) if mark.marked else ""
  return tag("svg", inside, viewBox="0 0 30 12", width=30, height=12,
             class_="sample")
