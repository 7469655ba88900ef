"""From values to places along an axis, and the ticks that stand there."""

import dataclasses
import math
from collections.abc import Iterable, Iterator

import numpy as np

from pdjax.report.chart import (
  Arrows,
  Axis,
  Bars,
  Heat,
  Line,
  Mark,
  Panel,
  Spans,
)

_STEPS = (1, 2, 5, 10)
_LETTERS = {1e3: "k", 1e6: "M", 1e9: "G", 1e12: "T", 1e15: "P"}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Scale:
  """An axis with its bounds; places run from 0 to 1."""

  low: float
  high: float
  log: bool = False
  names: tuple[str, ...] = ()

  def place(self, values: np.ndarray | float) -> np.ndarray:
    """Share of the way from low to high."""
    low, high, at = self.low, self.high, np.asarray(values, np.float64)
    if self.log:
      low, high = math.log(low), math.log(high)
      with np.errstate(divide="ignore", invalid="ignore"):
        at = np.log(at)
    return (at - low) / (high - low)

  def ticks(self, most: int) -> list[tuple[float, str]]:
    """Values and words of at most so many ticks, but for named rows."""
    if self.names:
      return [(float(place), name) for place, name in enumerate(self.names)]
    values = [
        v for v in self._round_values(most)
        if self.low * (1 - 1e-9) - 1e-12 <= v <= self.high * (1 + 1e-9)
    ]
    for digits in (4, 6, 9):
      names = [number(value, digits) for value in values]
      if len(set(names)) == len(names):
        break
    return list(zip(values, names, strict=True))

  def _round_values(self, most: int) -> list[float]:
    if not self.log or self.high < 4 * self.low:
      return list(_even(self.low, self.high, most))
    for digits in ((1, 2, 5), (1, 3), (1,)):
      values = list(_decades(self.low, self.high, digits))
      if len(values) <= most:
        return values
    return values[:: -(-len(values) // most)]


def _even(low: float, high: float, most: int) -> Iterator[float]:
  rough = (high - low) / max(most, 1)
  power = 10.0 ** math.floor(math.log10(rough))
  step = next((s * power for s in _STEPS if s * power >= rough), 10 * power)
  for count in range(math.ceil(low / step - 1e-9), int(high / step + 1e-9) + 1):
    yield count * step


def _decades(
    low: float, high: float, digits: tuple[int, ...]
) -> Iterator[float]:
  first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
  for power in range(first, last + 1):
    for digit in digits:
      value = digit * 10.0**power
      if low * (1 - 1e-9) <= value <= high * (1 + 1e-9):
        yield value


def number(value: float, digits: int = 4) -> str:
  """A short one, such as `0.02`, `1,234`, `1.5k` and `3M`.

  >>> number(1234.0), number(1500), number(20000), number(0.1 + 0.2)
  ('1,234', '1.5k', '20k', '0.3')
  """
  if abs(value) >= 1e5 or abs(value) >= 1000 and not value % 100:
    size = max(size for size in _LETTERS if size <= abs(value))
    return f"{value / size:.{digits}g}{_LETTERS[size]}"
  if abs(value) >= 1000:
    return f"{value:,.{max(digits - 4, 0)}f}"
  return f"{value:.{digits}g}"


def scales_of(panel: Panel) -> tuple[Scale, Scale]:
  """The scales of x and y: all that is drawn fits."""
  found: tuple[list[float], list[float]] = ([], [])
  for mark in panel.marks:
    for kept, more in zip(found, _extent(mark), strict=True):
      kept += more
  for limit in panel.limits:
    axis, kept = (
        (panel.x, found[0]) if limit.along == "x" else (panel.y, found[1])
    )
    # On an even axis a far limit would squeeze what is drawn into a corner.
    if axis.log or not kept or limit.at <= 1.5 * max(kept):
      kept.append(limit.at)
  return _scale(panel.x, found[0]), _scale(panel.y, found[1])


def _extent(mark: Mark) -> tuple[list[float], list[float]]:
  match mark:
    case Line():
      ys = [mark.y, *(b for b in (mark.low, mark.high) if b is not None)]
      return _finite([mark.x]), _finite(ys)
    case Bars():
      bounds = [b for b in (mark.high,) if b is not None]
      return _finite([mark.begin, mark.end, *bounds]), []
    case Spans():
      return _finite([mark.begin, mark.end]), []
    case Heat() | Arrows():
      return [], []


def _finite(arrays: Iterable[np.ndarray]) -> list[float]:
  values = np.concatenate([np.asarray(a, np.float64) for a in arrays])
  return values[np.isfinite(values)].tolist()


def _scale(axis: Axis, values: list[float]) -> Scale:
  if axis.names:
    return Scale(low=-0.5, high=len(axis.names) - 0.5, names=axis.names)
  if axis.log:
    values = [value for value in values if value > 0]
  low = min(values, default=1.0) if axis.low is None else axis.low
  high = max(values, default=1.0) if axis.high is None else axis.high
  if axis.log:
    room = max((high / low) ** 0.05, 1.1)
    return Scale(
        low=low / (1 if axis.low else room),
        high=high * (1 if axis.high else room), log=True,
    )
  if high <= low:
    low, high = low - (0.5 if axis.low is None else 0), low + 0.5
  room = 0.05 * (high - low)
  return Scale(
      low=low - (0 if axis.low is not None else room),
      high=high + (0 if axis.high is not None else room),
  )
