"""Step times of a run in closed form: a few straight lines, exact in integers.

A decode run of a thousand steps is one segment when its cost grows by the same
amount a step; measured steps are one segment each.

Units: `_ps` integer picoseconds.
"""

import bisect
import math
from collections.abc import Iterable

from pdjax.entry import entry


@entry
class Segment:
  """Step times between two breakpoints: first, first + slope, and so on."""

  steps: int
  first_ps: int
  slope_ps: int = 0

  def elapsed_ps(self, steps: int) -> int:
    """Time of the segment's first `steps` steps; exact in integers."""
    return steps * self.first_ps + self.slope_ps * (steps * (steps - 1) // 2)

  @property
  def total_ps(self) -> int:
    return self.elapsed_ps(self.steps)

  def step_ps(self, index: int) -> int:
    """Time of step `index`, counted from 0."""
    return self.first_ps + index * self.slope_ps

  def steps_within(self, passed_ps: int) -> int:
    """How many of its steps are over after `passed_ps`, in integers exact."""
    if passed_ps < 0:
      return 0
    if self.total_ps <= passed_ps:
      return self.steps
    slope, begin = self.slope_ps, 2 * self.first_ps - self.slope_ps
    if slope > 0:  # n steps take (slope n^2 + begin n) / 2
      root = math.isqrt(begin * begin + 8 * slope * passed_ps)
      return (root - begin) // (2 * slope)
    return bisect.bisect_right(
        range(1, self.steps), passed_ps, key=self.elapsed_ps
    )


def elapsed_ps(segments: Iterable[Segment], steps: int) -> int:
  """Time of the first `steps` steps of a run.

  >>> elapsed_ps((Segment(2, 10), Segment(3, 20, 1)), 4)
  61
  """
  total_ps = 0
  for segment in segments:
    if steps <= segment.steps:
      triangle = steps * (steps - 1) // 2
      return total_ps + steps * segment.first_ps + segment.slope_ps * triangle
    total_ps += segment.total_ps
    steps -= segment.steps
  return total_ps


def steps_within(segments: Iterable[Segment], passed_ps: int) -> int:
  """Steps of a run that are over `passed_ps` after it started.

  >>> steps_within((Segment(2, 10), Segment(3, 20, 1)), 61)
  4
  """
  total = 0
  for segment in segments:
    steps = segment.steps_within(passed_ps)
    total += steps
    if steps < segment.steps:
      break
    passed_ps -= segment.total_ps
  return total


def first_steps(
    segments: tuple[Segment, ...], steps: int
) -> tuple[Segment, ...]:
  """The segments of the first `steps` steps."""
  if len(segments) == 1:
    (only,) = segments
    if only.steps <= steps:
      return segments
    return (Segment(steps, only.first_ps, only.slope_ps),)
  kept = []
  for segment in segments:
    if not steps:
      break
    taken = min(steps, segment.steps)
    kept.append(Segment(taken, segment.first_ps, segment.slope_ps))
    steps -= taken
  return tuple(kept)
