"""What a log tells about the speed of the machine it was measured on.

The log is fed to the scheduler again, so that each step's shape is known from
the world at the moment it started; beside it stands the time it took.

Units: `_ps` integer picoseconds.
"""

import dataclasses

from pdjax.events import (
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


@dataclasses.dataclass(frozen=True, slots=True)
class StepSeen:
  """One pass and its measured time."""

  shape: StepShape
  elapsed_ps: int


@dataclasses.dataclass(frozen=True, slots=True)
class TransferSeen:
  """One hand-off and the times of its three stages."""

  moved_bytes: int
  gather_ps: int
  link_ps: int
  scatter_ps: int


class Observer(ReplayBackend):
  """Replays a log and takes notes."""

  def __init__(self, log: Log):
    super().__init__(log)
    self.steps: list[StepSeen] = []
    self.transfers: list[TransferSeen] = []
    self._shapes: dict[int, StepShape] = {}
    self._stages_ps: dict[int, list[int]] = {}
    self._now_ps = 0

  def next_event(self) -> Event | None:
    event = super().next_event()
    match event:
      case StepEnded():
        self.steps += _passes(self._shapes.pop(event.run), event)
      case TransferProgressed():
        self._stages_ps[event.transfer].append(event.at_ps)
      case TransferEnded(failure=""):
        self._note_transfer(event)
      case _:
        pass
    self._now_ps = event.at_ps if event else self._now_ps
    return event

  def start(self, command: Command, world: World) -> None:
    super().start(command, world)
    if isinstance(command, Step):
      started = world.workers[command.worker].runs[command.lane]
      assert started is not None
      self._shapes[command.run] = shape_of(started)
    if isinstance(command, Transfer):
      self._stages_ps[command.transfer] = [self._now_ps]

  def _note_transfer(self, event: TransferEnded) -> None:
    points = [*self._stages_ps.pop(event.transfer), event.at_ps]
    if len(points) == 4:
      gaps = (b - a for a, b in zip(points, points[1:], strict=False))
      self.transfers.append(TransferSeen(event.moved_bytes, *gaps))


def _passes(shape: StepShape, event: StepEnded) -> list[StepSeen]:
  """A run's passes one by one, each with the context it had grown to."""
  seen = []
  context_tokens = shape.decode_context_tokens
  for segment in event.segments:
    for index in range(segment.steps):
      one = dataclasses.replace(
          shape, repeats=1, decode_context_tokens=context_tokens
      )
      seen.append(StepSeen(one, segment.step_ps(index)))
      context_tokens += shape.decode_seqs
  return seen


def observe(log: Log, policy: Policy, world: World) -> Observer:
  """Replays `log` through a fresh scheduler and returns what was seen.

  Raises:
    Diverged: the scheduler does not repeat the log.
  """
  observer = Observer(log)
  serve(policy, observer, world)
  return observer
