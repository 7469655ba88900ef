"""Step times of a run in closed form: a few straight lines, exact in integers.

A decode run of a thousand steps is one segment when its cost grows by the same
amount a step; measured steps are one segment each.

Units: `_ps` integer picoseconds.
"""

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


def elapsed_ps(segments: Iterable[Segment], steps: int) -> int:
  """Time of the first `steps` steps of a run.

  >>> elapsed_ps((Segment(2, 10), Segment(3, 20, 1)), 4)
  61
  """
  total_ps = 0
  for segment in segments:
    taken = min(steps, segment.steps)
    total_ps += segment.elapsed_ps(taken)
    steps -= taken
    if not steps:
      break
  return total_ps


def first_steps(
    segments: Iterable[Segment], steps: int
) -> tuple[Segment, ...]:
  """The segments of the first `steps` steps."""
  kept = []
  for segment in segments:
    if not steps:
      break
    taken = min(steps, segment.steps)
    kept.append(Segment(taken, segment.first_ps, segment.slope_ps))
    steps -= taken
  return tuple(kept)
