"""The simulated backend of workers whose costs were measured, on one host.

A decode run that begins pays for beginning: the lane was not at those very
decodes up to this instant. What begins when nobody on the host had worked pays
for that rest. How long a pass takes depends on which workers are busy, and with
what, and that changes while it runs. At such a change the work that is left of
a pass is priced anew: a pass that is half done is half done at either price.
Passes not begun take the new price whole.

Who is busy is asked when everything of an instant has happened, so a lane that
ends a step and begins the next at once was never idle, and a run of r steps is
r single steps (law 7). Everything is an integer: prices beside busy neighbours
are, and what is left of a pass is rounded up once a change.

Units: `_ps` integer picoseconds.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pdjax.events import (
    EVENTS,
    Command,
    Event,
    Step,
    StepEnded,
    TransferEnded,
    TransferProgressed,
    WorkerLost,
)
from pdjax.schedule.cost import StepShape
from pdjax.schedule.world import World
from pdjax.segments import Segment, elapsed_ps, first_steps, steps_within
from pdjax.simulate.backend import SimulatedBackend, shape_of
from pdjax.simulate.fittedcost import PS_PER_US, FittedCost
from pdjax.simulate.flight import Flight
from pdjax.simulate.lane import Lane, LaneRun, lengthened
from pdjax.simulate.sharing import ALONE, Beside
from pdjax.simulate.timer import Timer

_LAST = len(EVENTS)
"""Sorts behind every kind of event of the same time."""


class _Turn:
  """Pending when an instant that may change who is busy is over."""


_TURN = cast(Any, _Turn())


@dataclasses.dataclass(frozen=True, slots=True)
class _Wait:
  """A transfer whose pages are copied when some steps of a run are over."""

  run: LaneRun
  steps: int
  event: TransferProgressed | TransferEnded
  """What comes of it, when it is to by the prices so far."""
  number: int | None
  """Of that in what is pending; another means that it is no longer awaited."""


class SharedBackend(SimulatedBackend):
  """A `SimulatedBackend` of workers with one lane each, on one host.

  Args:
    fitted: by worker, what prices its steps; the backend's costs may wrap it.

  The backend prices a run as one that goes on, alone; it is priced again here.
  """

  def __init__(self, *args, fitted: Sequence[FittedCost], **settings):
    super().__init__(*args, **settings)
    self._fitted = fitted
    self._shapes: list[StepShape] = [StepShape()] * len(fitted)
    self._priced_for = [ALONE] * len(fitted)
    """Busy neighbours that the price of a worker's run counts with."""
    self._steps: list[Step | None] = [None] * len(fitted)
    """By worker, the last that was begun, ..."""
    self._ended_ps = [-1] * len(fitted)
    """... and when one was over."""
    self._copies: list[dict[int, int]] = [{} for _ in fitted]
    """Of a worker's run: time of copies, by the steps that they follow."""
    self._turn_ps = -1
    self._copied: tuple[LaneRun, int] | None = None
    """What the last copy waits for: steps of a run."""
    self._waits: dict[int, _Wait] = {}
    """By transfer."""

  def start(self, command: Command, world: World) -> None:
    super().start(command, world)
    if isinstance(command, Step):
      started = world.workers[command.worker].runs[command.lane]
      assert started is not None
      shape = shape_of(started, self._begins(command), self._rested_us(command))
      self._price(command.worker, shape)
      self._steps[command.worker] = command
      self._expect_turn()

  def _begins(self, step: Step) -> bool:
    """Whether it is not what its worker did up to now: the same, alone."""
    last = self._steps[step.worker]
    if last is None or step.prefill or last.prefill:
      return True
    same = last.decode == step.decode
    return not same or self._ended_ps[step.worker] != self._now[0]

  def _rested_us(self, step: Step) -> int:
    """For how long nobody had worked when it began."""
    others = (
        lanes[0].run for worker, lanes in enumerate(self._lanes)
        if worker != step.worker
    )
    if any(run is not None for run in others):
      return 0
    return (self._now[0] - max(self._ended_ps)) // PS_PER_US

  def _price(self, worker: int, shape: StepShape) -> None:
    (lane,) = self._lanes[worker]
    assert lane.run is not None
    self._shapes[worker], self._priced_for[worker] = shape, ALONE
    self._copies[worker] = {}
    if shape.rested_us or (shape.begins and not shape.prefill):
      lane.run.segments = self._fitted[worker].step(shape)
      lane.run.grant(lane.run.granted)
      self._expect_end(lane)

  def next_event(self) -> Event | None:
    event: Any = super().next_event()
    while event is _TURN:
      self._turn_ps = -1
      self._price_anew()
      event = super().next_event()
    if isinstance(event, StepEnded):
      self._ended_ps[event.worker] = event.at_ps
      self._expect_turn()
    elif isinstance(event, WorkerLost):
      self._steps[event.worker] = None
      self._expect_turn()
    return event

  def _expect_turn(self) -> None:
    now_ps = self._now[0]
    if self._turn_ps != now_ps:
      self._turn_ps = now_ps
      self._queue(now_ps, _LAST, 0, Timer(_TURN))

  def _price_anew(self) -> None:
    """Every run whose price counts with other neighbours than are busy."""
    prompts = [
        bool(shape.prefill) if lane.run else None
        for (lane,), shape in zip(self._lanes, self._shapes, strict=True)
    ]
    busy = Beside(prompts.count(True), prompts.count(False))
    for worker, (lane,) in enumerate(self._lanes):
      if lane.run is None:
        continue
      own = prompts[worker]
      beside = Beside(busy.prompts - bool(own), busy.decodes - (not own))
      if self._priced_for[worker] != beside:
        self._change_price(worker, lane, lane.run, beside)

  def _change_price(
      self, worker: int, lane: Lane, run: LaneRun, beside: Beside
  ) -> None:
    now_ps, cost = self._now[0], self._fitted[worker]
    shape, was = self._shapes[worker], self._priced_for[worker]
    before, after = cost.step(shape, was), cost.step(shape, beside)
    self._priced_for[worker] = beside
    if before == after:
      return
    old = run.segments
    if run.stages is None:
      copies = self._copies[worker]
      run.segments = priced_anew(run, copies, now_ps, before, after)
    elif now_ps <= run.started_ps:
      self._price_stages(run, after[0].first_ps)
    else:  # its layers keep the price that the step began with
      return
    run.ends_ps = run.boundary_ps(run.steps)
    self._expect_end(lane)
    self._move_copies(run, old)

  # Copies between steps. -----------------------------------------------------

  def _copy(self, worker: int, copy_ps: int) -> int:
    over_ps = super()._copy(worker, copy_ps)
    run, self._copied = self._lanes[worker][0].run, None
    if run is not None:
      self._copied = run, run.copies_after
      copies = self._copies[worker]
      copies[run.copies_after] = copies.get(run.copies_after, 0) + copy_ps
    return over_ps

  def _await(
      self, flight: Flight, event: TransferProgressed | TransferEnded
  ) -> None:
    super()._await(flight, event)
    if self._copied and event.at_ps > self._now[0]:
      wait = _Wait(*self._copied, event, flight.awaited)
      self._waits[event.transfer] = wait
    self._copied = None

  def _move_copies(self, run: LaneRun, old: tuple[Segment, ...]) -> None:
    """Copies that follow steps which now end at another time."""
    for number, wait in list(self._waits.items()):
      flight = self._transfers.get(number)
      if flight is None or flight.awaited != wait.number:
        del self._waits[number]
      elif wait.run is run:
        moved_ps = (
            elapsed_ps(run.segments, wait.steps) - elapsed_ps(old, wait.steps)
        )
        at_ps = wait.event.at_ps + moved_ps
        self._copied = (run, wait.steps)
        self._await(flight, dataclasses.replace(wait.event, at_ps=at_ps))

  def _price_stages(self, run: LaneRun, plain_ps: int) -> None:
    """Of a step whose pages leave it layer by layer, as it begins."""
    stages = run.stages
    assert stages is not None
    (whole,) = run.segments
    copies_ps = whole.first_ps - stages.plain_ps
    run.segments = (Segment(1, plain_ps + copies_ps),)
    stages.plain_ps = plain_ps
    for leaving in stages.leaving:
      self._await_group(self._transfers[leaving.transfer])


def priced_anew(
    run: LaneRun,
    copies: Mapping[int, int],
    now_ps: int,
    before: tuple[Segment, ...],
    after: tuple[Segment, ...],
) -> tuple[Segment, ...]:
  """A run's segments if its passes take the times of `after` from now on.

  Args:
    run: with segments as they were until now, copies included.
    copies: time of copies of pages, by the steps of it that they follow.
    now_ps: when the price changes.
    before: of all its passes at the old price, without copies.
    after: the same at the new price.
  """
  done = steps_within(run.segments, now_ps - run.started_ps)
  left = _rest(run.segments, done)
  if not left:
    return run.segments
  begins_ps = run.started_ps + elapsed_ps(run.segments, done)
  ends_ps, copy_ps = begins_ps + left[0].first_ps, copies.get(done, 0)
  old_ps, new_ps = (_rest(each, done)[0].first_ps for each in (before, after))
  work_ps = new_ps
  if now_ps > begins_ps + copy_ps:
    left_ps = -(-(ends_ps - now_ps) * new_ps // old_ps)
    work_ps = now_ps - begins_ps - copy_ps + left_ps
  tail = _rest(after, done + 1)
  for steps, later_ps in copies.items():
    if steps > done:
      tail = lengthened(tail, steps - done - 1, later_ps)
  whole = Segment(1, copy_ps + work_ps)
  over = first_steps(run.segments, done) if done else ()
  return (*over, whole, *tail)


def _rest(segments: tuple[Segment, ...], steps: int) -> tuple[Segment, ...]:
  """The segments after the first `steps` steps."""
  rest = []
  for segment in segments:
    left = segment.steps - max(steps, 0)
    if left > 0:
      gone = segment.steps - left
      rest.append(Segment(left, segment.step_ps(gone), segment.slope_ps))
    steps -= segment.steps
  return tuple(rest)
