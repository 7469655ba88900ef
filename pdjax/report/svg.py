"""A panel as inline SVG: colours are the page's, so it follows light and dark.

Text is text and every point says what it is (`<title>`). Nothing but strings
is computed, in a few milliseconds.

Units: pixels of the view box, which the page scales to the space there is.
"""

from collections.abc import Iterator, Sequence

from pdjax.report import marks
from pdjax.report.chart import Axis, Limit, Panel
from pdjax.report.marks import Frame, tag, text
from pdjax.report.scale import Scale, scales_of

_LETTER = 6.3
"""Width of a letter, at most, of the font's 11 pixels."""
_WIDTH, _WIDE = 360, 1080
_HEIGHT, _ROW = 236, 22
"""Of the plot with its labels, and of a row of a named axis."""
_TOP, _RIGHT, _BOTTOM = 26, 14, 42
_NAME_LETTERS = 34
"""Of a row's name; longer ones are cut in the middle."""


def drawn(panel: Panel, *, wide: bool = False) -> str:
  """The whole panel.

  Args:
    wide: for the page's whole width instead of a third of it.
  """
  width = _WIDE if wide else _WIDTH
  rows = len(panel.y.names)
  height = _TOP + _BOTTOM + max(3, rows) * _ROW if rows else _HEIGHT
  if wide and not rows:
    height = 200
  x, y = scales_of(panel)
  ticks = y.ticks(6)
  frame = Frame(
      x=x, y=y, left=_left(panel.y, ticks, wide), right=width - _RIGHT,
      top=_TOP, bottom=height - _BOTTOM,
  )
  parts = [
      *_axes(panel, frame, ticks),
      *(part for mark in panel.marks for part in marks.drawn(mark, frame)),
      *(part for limit in panel.limits for part in _limit(limit, frame)),
  ]
  if panel.empty:
    parts.append(text(
        panel.empty, (frame.left + frame.right) / 2,
        (frame.top + frame.bottom) / 2, "middle", "empty",
    ))
  return tag(
      "svg", "".join(parts), viewBox=f"0 0 {width} {height}", role="img",
      class_="wide" if wide else None, aria_label=panel.heading or "panel",
  )


def _left(
    axis: Axis, ticks: Sequence[tuple[float, str]], wide: bool
) -> float:
  """Room for the names of ticks and of the axis; wide panels, which stand
  below each other, begin at one place."""
  letters = max((len(_cut(name)) for _, name in ticks), default=1)
  room = 10 + letters * _LETTER + (16 if axis.label else 0)
  return max(room, 64) if wide else room


def _cut(name: str) -> str:
  if len(name) <= _NAME_LETTERS:
    return name
  half = (_NAME_LETTERS - 1) // 2
  return f"{name[:half]}…{name[-half:]}"


def _axes(
    panel: Panel, frame: Frame, y_ticks: Sequence[tuple[float, str]]
) -> Iterator[str]:
  width = frame.right - frame.left
  for at, name in _fitting(frame.x, width):
    x = float(frame.across(at))
    if not frame.x.names:
      yield tag("path", d=f"M{x:.1f} {frame.top}V{frame.bottom}", class_="grid")
    yield text(_cut(name), x, frame.bottom + 15, "middle")
  for at, name in y_ticks:
    y = float(frame.down(at))
    if not frame.y.names:
      yield tag("path", d=f"M{frame.left:.1f} {y:.1f}H{frame.right}",
                class_="grid")
    yield text(_cut(name), frame.left - 5, y + 4, "end")
  yield tag(
      "path", d=f"M{frame.left:.1f} {frame.top}V{frame.bottom}H{frame.right}",
      class_="axis",
  )
  if panel.heading:
    yield text(panel.heading, frame.left, 15, class_="head")
  yield text(panel.x.label, (frame.left + frame.right) / 2,
              frame.bottom + 33, "middle")
  if panel.y.label:
    y = (frame.top + frame.bottom) / 2
    yield text(panel.y.label, 0, 0, "middle",
                transform=f"translate(12 {y:.0f}) rotate(-90)")


def _fitting(scale: Scale, width: float) -> list[tuple[float, str]]:
  """As many ticks as have room beside each other."""
  for most in (8, 6, 5, 4, 3, 2):
    ticks = scale.ticks(most)
    letters = max((len(_cut(name)) for _, name in ticks), default=1)
    if len(ticks) * (letters + 2) * _LETTER <= width or scale.names:
      break
  every = 1
  if scale.names:
    letters = max(len(_cut(name)) for _, name in ticks) + 1
    every = max(1, -(-int(len(ticks) * letters * _LETTER) // int(width)))
  return ticks[::every]


def _limit(limit: Limit, frame: Frame) -> Iterator[str]:
  scale = frame.x if limit.along == "x" else frame.y
  if not 0 <= float(scale.place(limit.at)) <= 1:
    return
  if limit.along == "x":
    x = float(frame.across(limit.at))
    near = x > (frame.left + frame.right) / 2
    yield tag("path", d=f"M{x:.1f} {frame.top}V{frame.bottom}", class_="limit")
    yield text(limit.label, x + (-4 if near else 4), frame.bottom - 6,
                "end" if near else "start", "small")
    return
  y = float(frame.down(limit.at))
  yield tag("path", d=f"M{frame.left:.1f} {y:.1f}H{frame.right}",
            class_="limit")
  yield text(limit.label, frame.right, y - 4, "end", "small")
