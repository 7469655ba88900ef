"""The third backend: feeds a recorded log to the scheduler again.

Every command must equal the recorded one. This proves that a log is complete,
that the policy is deterministic, and, on a measured log, that the scheduler
which ran on the devices is the one the simulator runs.
"""

import dataclasses

from pdjax.events import COMMANDS, EVENTS, Command, Event, Log, Settled
from pdjax.schedule.loop import Policy, serve
from pdjax.schedule.world import World


class Diverged(RuntimeError):
  """The scheduler went another way than the log."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Replayed:
  """How far a replay agreed with its log."""

  commands: int
  """Recorded commands."""
  identical: int
  """Leading commands that were decided again."""
  difference: str = ""
  """The first that was not, recorded and decided."""


class ReplayBackend:
  """Answers from a log; raises `Diverged` at the first other command."""

  def __init__(self, log: Log):
    self._events = iter(log.of(*EVENTS))
    self._commands = iter(log.of(*COMMANDS))
    self._settled = iter(log.of(Settled))
    self.identical = 0

  arriving = True
  """A replay ends where the recording does."""

  def next_event(self) -> Event | None:
    return next(self._events, None)  # pyright: ignore[reportReturnType]

  def start(self, command: Command, world: World) -> None:
    recorded = next(self._commands, None)
    if command != recorded:
      raise Diverged(f"recorded {recorded}, decided {command}")
    self.identical += 1

  def settle(self, worker: int, lane: int) -> int:
    mark = next(self._settled, None)
    if not isinstance(mark, Settled) or (mark.worker, mark.lane) != (
        worker, lane,
    ):
      raise Diverged(f"recorded {mark}, asked to settle {worker=} {lane=}")
    return mark.steps

  def resume(self, worker: int, lane: int, repeats: int) -> None:
    pass

  def rest(self) -> str:
    """A recorded command that was never decided, or nothing."""
    missing = next(self._commands, None)
    return f"recorded {missing}, decided nothing more" if missing else ""


def replay(log: Log, policy: Policy, world: World) -> Replayed:
  """Runs the scheduler over a log again; `world` and `policy` are fresh."""
  backend = ReplayBackend(log)
  total = len(log.commands())
  try:
    serve(policy, backend, world)
    difference = backend.rest()
  except (Diverged, RuntimeError, ValueError) as error:
    difference = str(error)
  return Replayed(
      commands=total, identical=backend.identical, difference=difference
  )
