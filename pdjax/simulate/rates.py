"""Whole picoseconds from amounts, rates and seconds; the largest of lines."""

from pdjax.segments import Segment

PS_PER_S = 10**12
PS_PER_MS = 10**9


def ps_at(amount: int, rate_per_s: int) -> int:
  """Time of an amount at a rate, rounded up."""
  return -(-amount * PS_PER_S // rate_per_s)


def ps_of(seconds: float) -> int:
  return round(seconds * PS_PER_S)


def share(rate_per_s: int, efficiency: float) -> int:
  """What is reached of a rate."""
  return round(rate_per_s * efficiency)


def upper(
    lines: tuple[tuple[int, int], ...], steps: int
) -> tuple[Segment, ...]:
  """The largest of several lines (first, slope) at steps 0, 1, ... `steps` - 1.

  >>> for segment in upper(((10, 1), (8, 2), (0, 0)), 5):
  ...   print(segment)
  Segment(steps=2, first_ps=10, slope_ps=1)
  Segment(steps=3, first_ps=12, slope_ps=2)
  """
  first_ps, slope = max(lines)
  last_ps = first_ps + (steps - 1) * slope
  for other_ps, steep in lines:
    if steep > slope and other_ps + (steps - 1) * steep >= last_ps:
      return _pieces(lines, steps)
  return (Segment(steps, first_ps, slope),)


def _pieces(
    lines: tuple[tuple[int, int], ...], steps: int
) -> tuple[Segment, ...]:
  segments, at = [], 0
  while at < steps:
    # Largest here; on a tie the steepest, which stays the largest.
    now_ps, slope = max((first + at * slope, slope) for first, slope in lines)
    turns = (
        at - (first + at * steep - now_ps) // (steep - slope)
        for first, steep in lines
        if steep > slope
    )
    until = min(steps, min(turns, default=steps))
    segments.append(Segment(until - at, now_ps, slope))
    at = until
  return tuple(segments)
