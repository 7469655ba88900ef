"""A bracket of a rate: steps that double until its ends differ, then bisection.

Which rates are tried next follows from the outcomes so far and nothing else, so
a search that is repeated asks for the same runs. Rates are rounded to four
digits: they name runs.
"""

import dataclasses
from collections.abc import Iterator
from typing import Literal

Outcome = Literal["pass", "fail", "undecided"]
Stopped = Literal[
    "bracketed", "undecided", "not bracketed above", "not bracketed below",
    "failed",
]
_DIGITS = 4


@dataclasses.dataclass(kw_only=True)
class Bracket:
  """Between a rate that passed and one that failed, both in tokens of `rate`.

  An undecided rate lies where the truth is hard to tell from the limit; the
  bracket is then narrowed on both sides of it.
  """

  first: float
  """The rate to begin with."""
  tolerance: float
  """The bracket is narrow enough when its ends differ by this share."""
  doublings: int
  """Steps up or down at most."""
  step: float = 2.0
  """Factor of the first step; each is the square of the last, up to 2."""
  tried: dict[float, Outcome] = dataclasses.field(default_factory=dict)
  obstacle: str = ""
  """Why the last rate asked for could not be tried."""
  broken: bool = False
  """Whether that was a failure."""

  @property
  def low(self) -> float | None:
    """The highest rate that passed."""
    return max(self._rates("pass"), default=None)

  @property
  def high(self) -> float | None:
    """The lowest rate that failed, of those above `low`."""
    low = self.low or 0.0
    return min((r for r in self._rates("fail") if r > low), default=None)

  @property
  def descending(self) -> bool:
    """Whether a rate failed and none has passed yet."""
    return self.low is None and self.high is not None

  def _rates(self, outcome: Outcome) -> Iterator[float]:
    return (rate for rate, found in self.tried.items() if found == outcome)

  def block(self, reason: str, *, failed: bool) -> None:
    """Ends the search: the rate asked for cannot be tried."""
    self.obstacle, self.broken = reason, failed

  def next(self) -> float | None:
    """The rate to try now; None when the search is over."""
    if self.obstacle:
      return None
    if not self.tried:
      return rounded(self.first)
    if self.low is None or self.high is None:
      return self._outside()
    lower, upper = max(self._gaps(), key=lambda gap: gap[1] / gap[0])
    if upper / lower <= 1 + self.tolerance:
      return None
    middle = rounded((lower * upper) ** 0.5)
    return middle if lower < middle < upper else None

  def _outside(self) -> float | None:
    """A step up while nothing fails, down while nothing passes."""
    if len(self.tried) > self.doublings:
      return None
    factor = min(2.0, self.step ** 2 ** (len(self.tried) - 1))
    if self.descending:
      return rounded(min(self.tried) / factor)
    return rounded(max(self.tried) * factor)

  def _gaps(self) -> list[tuple[float, float]]:
    """From the highest pass to what is undecided, and on to the lowest fail."""
    low, high = self.low, self.high
    assert low is not None and high is not None
    between = [r for r in self._rates("undecided") if low < r < high]
    if not between:
      return [(low, high)]
    return [(low, min(between)), (max(between), high)]

  @property
  def stopped(self) -> Stopped:
    """How the search ended."""
    if self.obstacle and self.broken:
      return "failed"
    if self.high is None:
      return "not bracketed above"
    if self.low is None:
      return "not bracketed below"
    if self.obstacle:
      return "failed"
    return "undecided" if len(self._gaps()) > 1 else "bracketed"

  @property
  def undecided(self) -> list[float]:
    """The rates between the ends that are neither, in order."""
    low, high = self.low or 0.0, self.high or float("inf")
    return sorted(r for r in self._rates("undecided") if low < r < high)


def rounded(rate: float) -> float:
  """A rate as runs have it.

  >>> rounded(2 ** 0.5)
  1.414
  """
  return float(f"{rate:.{_DIGITS}g}")
