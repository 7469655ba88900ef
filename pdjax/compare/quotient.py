"""A figure of one rival divided by that of another.

Several seeds are paired. One run each has an interval where the rows have
bounds of their own; what a publication claims has none.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from pdjax.compare.figures import Figure
from pdjax.compare.rival import Rival
from pdjax.metrics import ratios
from pdjax.metrics.intervals import Interval, too_few
from pdjax.metrics.ratios import Ratio

Better = Literal["A", "B", "equal"]
Value = Any
"""A number, a (low, high) of a claim, or None."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Quotient:
  """B over A."""

  figure: Figure
  a: Value
  b: Value
  ratio: Ratio | None = None
  span: tuple[float, float] | None = None
  """In place of a ratio, where a claim gives a range: not an interval."""
  published: bool = False
  """Whether a claim is on one side, so that there can be no interval."""

  @property
  def better(self) -> Better | None:
    """Which value is better, significantly or not."""
    if self.ratio is None or self.a is None or self.b is None:
      return None
    if self.a == self.b:
      return "equal"
    return "B" if (self.b > self.a) == self.figure.more else "A"


def quotient(a: Rival, b: Rival, figure: Figure) -> Quotient:
  """A figure of both, and B over A where both have one."""
  seeds = sorted(a.runs.keys() & b.runs.keys())
  ours, theirs = _values(a, figure, seeds), _values(b, figure, seeds)
  found = Quotient(
      figure=figure, a=_middle(ours), b=_middle(theirs),
      published=bool(a.claim or b.claim),
  )
  if found.a is None or found.b is None:
    return found
  if isinstance(found.a, tuple) or isinstance(found.b, tuple):
    return dataclasses.replace(found, span=_span(found.a, found.b))
  return dataclasses.replace(found, ratio=_ratio(a, b, figure, ours, theirs))


def _values(
    rival: Rival, figure: Figure, seeds: list[int]
) -> dict[int, Value]:
  """By seed: of the common ones, or of all without any."""
  found = {
      seed: figure.of(run.summary)
      for seed, run in rival.runs.items()
      if not seeds or seed in seeds
  }
  return {seed: value for seed, value in found.items() if value is not None}


def _middle(values: Mapping[int, Value]) -> Value:
  """The mean over seeds; a claim's only value as it is."""
  each = list(values.values())
  if not each or isinstance(each[0], tuple):
    return each[0] if each else None
  return sum(each) / len(each)


def _span(a: Value, b: Value) -> tuple[float, float] | None:
  (a_low, a_high), (b_low, b_high) = (
      value if isinstance(value, tuple) else (value, value) for value in (a, b)
  )
  return (b_low / a_high, b_high / a_low) if a_low > 0 else None


def _ratio(
    a: Rival,
    b: Rival,
    figure: Figure,
    ours: Mapping[int, float],
    theirs: Mapping[int, float],
) -> Ratio:
  common = ours.keys() & theirs.keys()
  if len(common) > 1:
    return ratios.paired(theirs, ours)
  if len(ours) == len(theirs) == 1:
    return ratios.of_bounds(
        _own(b, figure, *theirs.items()), _own(a, figure, *ours.items())
    )
  means = _middle(ours), _middle(theirs)
  ratio = means[1] / means[0] if means[0] else None
  return Ratio(too_few(ratio, 1, "seeds not in common"), ())


def _own(
    rival: Rival, figure: Figure, of: tuple[int, float]
) -> Interval:
  """A figure of one run with the bounds that it has itself."""
  seed, value = of
  found = figure.bounds_of(rival.runs[seed].summary)
  interval = too_few(value, 1, "its own bounds")
  if found is None:
    return interval
  return dataclasses.replace(interval, low=found[0], high=found[1])
