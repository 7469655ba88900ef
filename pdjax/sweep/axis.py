"""The values of an axis as text: `128,256`, `log(1,64,7)`, or both mixed.

  lin(A,B,N)        N values from A to B, both included, equal steps
  log(A,B,N)        N values from A to B, both included, equal ratios
  range(A,B[,STEP]) from A up to B, without B itself

Values of whole-number fields are rounded, others have up to six significant
digits, so that equal axes are equal cells on every machine. Without N, `lin`
and `log` are spans to draw from (`pdjax.sweep.sample`).
"""

import dataclasses
import math
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Literal

from pdjax import fieldtypes, literals, schema
from pdjax.config import ConfigError
from pdjax.fieldtypes import near
from pdjax.unknown import UNKNOWN

MAX_VALUES = 10_000
_USES = {
    "lin": "lin(A,B,N)", "log": "log(A,B,N)", "range": "range(A,B[,STEP])",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Span:
  """Numbers between two ends, evenly spread or evenly in their logarithms."""

  law: Literal["lin", "log"]
  low: Fraction
  high: Fraction
  whole: bool
  """Rounded to whole numbers."""

  def at(self, share: float | Fraction) -> int | float:
    """The number at a share of the way from the low end to the high one."""
    if self.law == "lin":
      value = self.low + (self.high - self.low) * Fraction(share)
      return round(value) if self.whole else float(value)
    low, high = math.log(self.low), math.log(self.high)
    value = math.exp(low + (high - low) * float(share))
    return round(value) if self.whole else float(f"{value:.6g}")


def values_of(
    path: str, text: str, errors: list[str], hint: Any = None
) -> tuple[Any, ...]:
  """The values that a text gives a field, each once where numbers are rounded.

  Adds a line to `errors` for each part that is wrong, which is unknown then.

  >>> values_of("strategy.chunk_size", "32,log(64,256,3)", [])
  (32, 64, 128, 256)

  Raises:
    ConfigError: no such field.
  """
  hint = hint or schema.hint_of(path)
  values: list[Any] = []
  for part in literals.parts(text):
    values += _values(path, part, hint, errors)
  return tuple(values)


def seeds_of(place: str, text: str, errors: list[str]) -> tuple[int, ...]:
  """Seeds as text: `0-4` is 0 to 4, both included; `0,2,5-7` a list of such.

  Args:
    place: where it was said.
  """
  told: list[str] = []
  seeds: list[int] = []
  for part in literals.parts(text):
    if ends := re.fullmatch(r"(\d{1,18})\s*-\s*(\d{1,18})", part):
      seeds += _between(int(ends[1]), int(ends[2]), told)
    else:
      seeds += values_of("", part, told, int)
  errors += [f"{place}={text}: {line.removeprefix(': ')}" for line in told]
  return tuple(seeds) if not told else (UNKNOWN,)


def _between(first: int, last: int, told: list[str]) -> range:
  if first > last:
    told.append(f"{first}-{last} holds no seed; the smaller one comes first")
  elif last - first >= MAX_VALUES:
    told.append(f"{first}-{last}: at most {MAX_VALUES} seeds are possible")
  else:
    return range(first, last + 1)
  return range(0)


def span_of(path: str, text: str, hint: Any = None) -> Span | None:
  """The span that a text is, None if it is anything else.

  Raises:
    ConfigError: no such field, or its ends are wrong.
  """
  name, arguments = _call(text, hint or schema.hint_of(path))
  if name not in ("lin", "log") or len(arguments) != 2:
    return None
  whole = _is_whole(hint or schema.hint_of(path))
  try:
    return _span(name, arguments, whole)
  except ValueError as error:
    raise ConfigError([f"{path}: {text}: {error}"]) from None


def _values(
    path: str, part: str, hint: Any, errors: list[str]
) -> tuple[Any, ...]:
  name, arguments = _call(part, hint)
  if not name:
    return literals.list_from_text(path, part, errors, hint)
  try:
    numbers = tuple(_numbers(name, arguments, _is_whole(hint)))
  except ValueError as error:
    errors.append(f"{path}: {part}: {error}")
    return (UNKNOWN,)
  told: list[str] = []
  values = [fieldtypes.convert(hint, n, path, told) for n in numbers]
  errors += told[:1]
  return (UNKNOWN,) if told else tuple(dict.fromkeys(values))


def _call(text: str, hint: Any) -> tuple[str, list[str]]:
  """(name, arguments) of `name(...)` for a field of numbers, else ("", [])."""
  found = re.fullmatch(r"([a-z]\w*)\((.*)\)", text.strip(), re.DOTALL)
  if not found or not {int, float} & set(fieldtypes.members_of(hint)):
    return "", []
  return found[1], [part.strip() for part in found[2].split(",")]


def _is_whole(hint: Any) -> bool:
  return float not in fieldtypes.members_of(hint)


def _numbers(
    name: str, arguments: list[str], whole: bool
) -> Iterator[int | float]:
  """Raises ValueError with what is wrong."""
  if name not in _USES:
    known = ", ".join(_USES.values())
    raise ValueError(f"no such range; allowed: {known}{near(name, _USES)}")
  if name == "range":
    yield from _range(arguments)
    return
  if len(arguments) == 2:
    raise ValueError(
        f"needs a count, {_USES[name]}; without one it is drawn from by"
        " --sample=N or sweep.sample"
    )
  if len(arguments) != 3:
    raise ValueError(f"expected {_USES[name]}")
  span = _span(name, arguments[:2], whole)
  count = _count(arguments[2])
  yield from (span.at(Fraction(n, count - 1)) for n in range(count))


def _count(text: str) -> int:
  if not text.isdecimal() or not 2 <= int(text) <= MAX_VALUES:
    raise ValueError(f"N must be a whole number from 2 to {MAX_VALUES}")
  return int(text)


def _span(name: str, ends: list[str], whole: bool) -> Span:
  low, high = map(_number, ends)
  if name == "log" and min(low, high) <= 0:
    raise ValueError("both ends of a log must be above 0")
  if low == high:
    raise ValueError("the two ends are the same")
  return Span(
      law="log" if name == "log" else "lin", low=low, high=high, whole=whole
  )


def _range(arguments: list[str]) -> Iterator[int | float]:
  if len(arguments) not in (2, 3):
    raise ValueError(f"expected {_USES['range']}")
  start, end, step = map(_number, [*arguments, "1"][:3])
  if not step:
    raise ValueError("STEP must not be 0")
  count = math.ceil((end - start) / step)
  if count < 1:
    raise ValueError("holds no value; B itself is left out")
  if count > MAX_VALUES:
    raise ValueError(f"holds {count} values; at most {MAX_VALUES} are possible")
  for number in range(count):
    value = start + number * step
    yield int(value) if value.denominator == 1 else float(value)


def _number(text: str) -> Fraction:
  """What is written, exactly: a tenth, not the nearest float."""
  try:
    value = float(text)
  except ValueError:
    value = math.nan
  if not math.isfinite(value):
    raise ValueError(f"expected a number, got {text!r}")
  return Fraction(repr(value))
