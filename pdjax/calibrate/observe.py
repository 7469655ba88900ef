"""What a log tells about the speed of the machine it was measured on.

The log is fed to the scheduler again, so that each step's shape is known from
the world at the moment it started; beside it stands the time it took, counted
from when the simulator would begin it: when its cause happened (a request was
sent, another step was over) and its lane was free. So the first pass of a
command holds what the engine takes to hear of things and to decide.

Units: `_ps` integer picoseconds.
"""

import dataclasses
from collections.abc import Iterator, Sequence

from pdjax.calibrate.occupancy import Busy, Occupancy, Shares
from pdjax.events import (
  Arrived,
  Command,
  Event,
  Log,
  Step,
  StepEnded,
  Transfer,
  TransferEnded,
  TransferProgressed,
)
from pdjax.schedule.cost import StepShape
from pdjax.schedule.loop import Policy, serve
from pdjax.schedule.replay import ReplayBackend
from pdjax.schedule.world import World
from pdjax.simulate.backend import shape_of
from pdjax.simulate.fittedcost import PS_PER_US, UNPADDED, Padding
from pdjax.simulate.sharing import ALONE


@dataclasses.dataclass(frozen=True, slots=True)
class StepSeen:
  """One pass and its measured time."""

  shape: StepShape
  elapsed_ps: int
  shares: Shares = ((ALONE, 1.0),)
  """Of that time, by which neighbours were busy."""
  padding: Padding = UNPADDED
  """Sizes of the engine that took it."""


@dataclasses.dataclass(frozen=True, slots=True)
class TransferSeen:
  """One hand-off and the times of its three stages."""

  moved_bytes: int
  gather_ps: int
  link_ps: int
  scatter_ps: int


class Observer(ReplayBackend):
  """Replays a log and takes notes."""

  def __init__(self, log: Log, paddings: Sequence[Padding] = ()):
    super().__init__(log)
    self.transfers: list[TransferSeen] = []
    self._paddings = paddings
    self._passes: list[_Pass] = []
    self._busy: list[Busy] = []
    self._begun: dict[int, tuple[StepShape, int]] = {}
    """Of runs under way: what they are, and what brought them about when."""
    self._free_ps: dict[tuple[int, int], int] = {}
    """When the last run of a worker's lane was over."""
    self._stages_ps: dict[int, list[int]] = {}
    self._now_ps = self._cause_ps = 0

  @property
  def steps(self) -> list[StepSeen]:
    """All passes so far."""
    known = Occupancy(self._busy)
    return [
        StepSeen(
            one.shape, one.ends_ps - one.begins_ps,
            known.shares(one.busy), one.padding,
        )
        for one in self._passes
    ]

  def next_event(self) -> Event | None:
    event = super().next_event()
    match event:
      case StepEnded():
        self._note_run(event)
      case TransferProgressed():
        self._stages_ps[event.transfer].append(event.at_ps)
      case TransferEnded(failure=""):
        self._note_transfer(event)
      case _:
        pass
    if event is not None:
      self._now_ps, self._cause_ps = event.at_ps, _happened_ps(event)
    return event

  def start(self, command: Command, world: World) -> None:
    super().start(command, world)
    if isinstance(command, Step):
      started = world.workers[command.worker].runs[command.lane]
      assert started is not None
      shape = shape_of(started, True, self._rested_us())
      self._begun[command.run] = (shape, self._cause_ps)
    if isinstance(command, Transfer):
      self._stages_ps[command.transfer] = [self._now_ps]

  def _rested_us(self) -> int:
    """For how long nobody has worked when something begins."""
    if self._begun:
      return 0
    last_ps = max(self._free_ps.values(), default=0)
    return max(0, self._cause_ps - last_ps) // PS_PER_US

  def _note_run(self, event: StepEnded) -> None:
    shape, cause_ps = self._begun.pop(event.run)
    lane = (event.worker, event.lane)
    begins_ps = max(cause_ps, self._free_ps.get(lane, 0))
    begins_ps = min(begins_ps, event.started_ps)
    padding = self._paddings[event.worker] if self._paddings else UNPADDED
    self._passes += _passes(shape, event, begins_ps, padding)
    self._free_ps[lane] = _happened_ps(event)
    self._busy.append(
        Busy(begins_ps, self._free_ps[lane], bool(shape.prefill))
    )

  def _note_transfer(self, event: TransferEnded) -> None:
    points = [*self._stages_ps.pop(event.transfer), event.at_ps]
    if len(points) == 4:
      gaps = (b - a for a, b in zip(points, points[1:], strict=False))
      self.transfers.append(TransferSeen(event.moved_bytes, *gaps))


@dataclasses.dataclass(frozen=True, slots=True)
class _Pass:
  """One pass, and from when to when."""

  shape: StepShape
  begins_ps: int
  ends_ps: int
  padding: Padding

  @property
  def busy(self) -> Busy:
    return Busy(self.begins_ps, self.ends_ps, bool(self.shape.prefill))


def _passes(
    shape: StepShape, event: StepEnded, begins_ps: int, padding: Padding
) -> Iterator[_Pass]:
  """A run's passes one by one, each with the context it had grown to."""
  context_tokens, at_ps = shape.decode_context_tokens, event.started_ps
  for segment in event.segments:
    for index in range(segment.steps):
      one = dataclasses.replace(
          shape, repeats=1, decode_context_tokens=context_tokens
      )
      at_ps += segment.step_ps(index)
      yield _Pass(one, begins_ps, at_ps, padding)
      context_tokens += shape.decode_seqs
      shape = dataclasses.replace(shape, begins=False, rested_us=0)
      begins_ps = at_ps


def _happened_ps(event: Event) -> int:
  """When it did, by the clock that the simulator keeps: not when an engine's
  scheduler came to hear of it."""
  match event:
    case Arrived():
      return min(event.at_ps, event.request.arrival_ps)
    case StepEnded():
      return event.started_ps + sum(each.total_ps for each in event.segments)
  return event.at_ps


def observe(
    log: Log, policy: Policy, world: World, paddings: Sequence[Padding] = ()
) -> Observer:
  """Replays `log` through a fresh scheduler and returns what was seen.

  Args:
    log: of an engine.
    policy: as it was when the log was made.
    world: likewise.
    paddings: sizes of each worker's passes; none are padded without.

  Raises:
    Diverged: the scheduler does not repeat the log.
  """
  observer = Observer(log, paddings)
  serve(policy, observer, world)
  return observer
