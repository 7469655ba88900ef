"""A lane of a simulated worker: the run on it, and when it is free again.

A run is known in full when it starts. It gets shorter when the scheduler cuts
it, and longer when pages are gathered or scattered: a copy runs between two
steps, after those the worker can no longer recall, and the next step begins
when it is over.

Units: `_ps` integer picoseconds.
"""

import dataclasses

from pdjax.events import Step, StepEnded
from pdjax.segments import Segment, elapsed_ps, first_steps, steps_within
from pdjax.simulate.stages import Stages


@dataclasses.dataclass(slots=True, eq=False)
class LaneRun:
  """One run, from its first step to its last."""

  step: Step
  started_ps: int
  segments: tuple[Segment, ...]
  """Of all granted steps, with the copies between them."""
  left_tokens: dict[int, int]
  """Of each request that makes a token a step: tokens to its true end."""
  ahead: int
  """Steps dispatched beyond the one in flight."""
  copies_after: int = 0
  """The steps that the last copies follow, and the time of these copies."""
  copies_ps: int = 0
  stages: Stages | None = None
  """Of its only step, if pages leave it layer by layer."""
  granted: int = dataclasses.field(init=False)
  """Steps the scheduler lets it take."""
  steps: int = dataclasses.field(init=False)
  """Steps until the run ends: the grant, or the first true end.

  Steps dispatched ahead of the first true end of a request are still taken:
  they make tokens for the others, and none for the one that has ended.
  """
  ends_ps: int = dataclasses.field(init=False)
  """When the last of these steps is over."""
  _first_end: int = dataclasses.field(init=False)
  """Steps after which a request comes to its true end."""

  def __post_init__(self):
    repeats = self.step.repeats
    self._first_end = min(self.left_tokens.values(), default=repeats)
    self.grant(repeats)

  def grant(self, steps: int) -> None:
    """Lets it take so many steps in all."""
    self.granted = steps
    self.steps = min(steps, self._first_end + self.ahead)
    self.ends_ps = self.started_ps + elapsed_ps(self.segments, self.steps)

  @property
  def over_ps(self) -> int:
    """When the worker is done with it and with its copies."""
    if self.copies_ps and self.copies_after == self.steps:
      return self.ends_ps + self.copies_ps
    return self.ends_ps

  def boundary_ps(self, steps: int) -> int:
    """When the first `steps` steps are over."""
    return self.started_ps + elapsed_ps(self.segments, steps)

  def finished(self, now_ps: int) -> int:
    """Steps that are over by a time."""
    steps = steps_within(self.segments, now_ps - self.started_ps)
    return min(steps, self.steps)

  def past_recall(self, now_ps: int, boundary_passed: bool) -> int:
    """Steps finished, in flight, or dispatched ahead.

    Where a step ends at this very instant, `boundary_passed` says whether the
    scheduler would have been told of it by now.
    """
    finished = steps_within(self.segments, now_ps - self.started_ps)
    finished = min(finished, self.granted)
    if finished and not boundary_passed:
      finished -= self.boundary_ps(finished) == now_ps
    return min(finished + 1 + self.ahead, self.granted)

  def add_copy(self, after: int, copy_ps: int) -> int:
    """Lets a copy follow the first `after` steps; returns when it is over."""
    after = min(after, self.steps)
    if after != self.copies_after:
      self.copies_after, self.copies_ps = after, 0
    begins_ps = self.boundary_ps(after) + self.copies_ps
    self.copies_ps += copy_ps
    self.segments = lengthened(self.segments, after, copy_ps)
    if after < self.steps:
      self.ends_ps += copy_ps
    return begins_ps + copy_ps

  def lengthen(self, extra_ps: int) -> None:
    """Its first step has more to do."""
    self.segments = lengthened(self.segments, 0, extra_ps)
    self.ends_ps = self.boundary_ps(self.steps)

  def ended(self) -> StepEnded:
    """The event of its end, as things stand."""
    step, steps, finished = self.step, self.steps, ()
    if self._first_end <= steps:
      finished = tuple([
          told for told in self.left_tokens.items() if told[1] <= steps
      ])
    return StepEnded(
        self.ends_ps, step.worker, step.lane, step.run, self.started_ps, steps,
        first_steps(self.segments, steps), finished,
    )


@dataclasses.dataclass(slots=True, eq=False)
class Lane:
  """What a worker does in one lane."""

  subject: int = 0
  """Of the ends of its runs, in keys of delivery."""
  run: LaneRun | None = None
  awaited: int | None = None
  """Which of the backend's pending events is its run's end."""
  awaited_ps: int = 0
  """When that is."""
  free_ps: int = 0
  """While no run is on: when the last work is over."""

  def copy(self, now_ps: int, boundary_passed: bool, copy_ps: int) -> int:
    """Takes a copy of pages on; returns when it is over."""
    if self.run is not None:
      after = self.run.past_recall(now_ps, boundary_passed)
      return self.run.add_copy(after, copy_ps)
    self.free_ps = max(self.free_ps, now_ps) + copy_ps
    return self.free_ps

  def end(self) -> StepEnded:
    """The run is over."""
    assert self.run is not None
    event = self.run.ended()
    self.free_ps = self.run.over_ps
    self.run = self.awaited = None
    return event

  def forget(self) -> None:
    """Whatever was to be done will not be."""
    self.free_ps = 0
    self.run = self.awaited = None


def lengthened(
    segments: tuple[Segment, ...], index: int, extra_ps: int
) -> tuple[Segment, ...]:
  """Segments with step `index`, if they have one, longer by `extra_ps`.

  >>> for segment in lengthened((Segment(3, 10, 1),), 1, 100):
  ...   print(segment)
  Segment(steps=1, first_ps=10, slope_ps=1)
  Segment(steps=1, first_ps=111, slope_ps=0)
  Segment(steps=1, first_ps=12, slope_ps=1)
  """
  pieces = []
  for segment in segments:
    if 0 <= index < segment.steps:
      after = segment.steps - index - 1
      pieces += [
          Segment(index, segment.first_ps, segment.slope_ps),
          Segment(1, segment.step_ps(index) + extra_ps),
          Segment(after, segment.step_ps(index + 1), segment.slope_ps),
      ]
    else:
      pieces.append(segment)
    index -= segment.steps
  return tuple(piece for piece in pieces if piece.steps)
