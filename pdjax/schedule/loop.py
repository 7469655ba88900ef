"""The loop that carries the program: one scheduler, any backend.

    next event -> the world applies it -> the policy decides -> commands start

The loop neither knows whether time is real nor what a step computes.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from pdjax.events import LAST_PS, Command, Event, Log, Wake, Woke
from pdjax.request import Progress
from pdjax.schedule.decisions import END, asked, endless, fault, refused
from pdjax.schedule.world import IllegalCommand, World

FRUITLESS_WAKES = 100_000
"""So many in a row with nothing under way are taken for a loop."""


class Policy(Protocol):
  """Decides what runs next; sees time only in the event."""

  def decide(self, event: Event, world: World) -> Iterable[Command]:
    """Yields commands; each is started before the next is asked for."""
    ...


class Backend(Protocol):
  """Does the work and owns the clock.

  `start` is told every command after the world has applied it; only `Step`,
  `Transfer`, `Abort` and `Wake` mean work. `settle` answers how many steps of
  a lane's run are past recall (finished, in flight, and dispatched ahead) and
  holds the run there; `resume` lets it go on to `repeats` steps in all. An
  `Interrupt` reaches a backend only as a `resume` with fewer steps.
  """

  @property
  def arriving(self) -> bool:
    """Whether requests are still to arrive."""
    ...

  def next_event(self) -> Event | None: ...

  def start(self, command: Command, world: World) -> None: ...

  def settle(self, worker: int, lane: int) -> int: ...

  def resume(self, worker: int, lane: int, repeats: int) -> None: ...


class Stalled(RuntimeError):
  """Requests are unfinished and nothing is pending. Names who waits."""


class OutOfTime(RuntimeError):
  """Something would happen later than a log can tell."""


def serve(
    policy: Policy,
    backend: Backend,
    world: World,
    watch: Callable[[Event, World], None] | None = None,
) -> Log:
  """Serves until every request has ended; returns the log of it.

  `watch` is called after each event has been dealt with, to show progress.

  Raises:
    Stalled: requests are left over and no event will ever come, or the policy
      only ever asks to be woken again.
    OutOfTime: the run lasts longer than a log can tell.
    IllegalCommand: the policy asked for what the world does not allow.
    PolicyFault: the policy's own code failed.
  """
  log, fruitless = Log(), 0
  world.attach(backend.settle, log)
  while world.unfinished or backend.arriving:
    if (event := backend.next_event()) is None:
      break
    if event.at_ps > LAST_PS:
      raise OutOfTime(
          f"the run lasts longer than the 106 days of a log{_left(world)}"
      )
    log.append(event.at_ps, event)
    world.apply(event)
    worked = _carry_out(policy, event, world, backend, log)
    if world.admission.held:
      for worker, lane, repeats in world.admission.let_go():
        backend.resume(worker, lane, repeats)
    if watch:
      watch(event, world)
    idle = type(event) is Woke and not worked and not world.busy
    fruitless = fruitless + 1 if idle else 0
    if fruitless == FRUITLESS_WAKES:
      raise Stalled(f"{fruitless} timers in a row led to nothing{_left(world)}")
  if world.unfinished:
    raise Stalled(f"no event left{_left(world)}")
  return log


def _carry_out(
    policy: Policy, event: Event, world: World, backend: Backend, log: Log
) -> bool:
  """Starts each command of an event before the next is asked for.

  Returns:
    Whether there was any but a `Wake`.
  """
  commands, command, worked = asked(policy.decide, event, world), None, False
  for _ in range(1000 + 100 * (world.unfinished + len(world.workers))):
    try:
      command = next(commands, END)
    except Exception as error:
      raise fault(error) from error
    if command is END:
      return worked
    try:
      started = world.start(command)
    except IllegalCommand as error:
      raise refused(commands, error) from error
    log.append(event.at_ps, started)
    backend.start(started, world)
    worked = worked or type(started) is not Wake
  raise endless(commands, command)


def _left(world: World) -> str:
  """Who is not finished, and what for."""
  left = [p for p in world.progress.values() if not p.ended]
  lines = "; ".join(_whereabouts(p, world) for p in left[:5])
  return f", {len(left)} requests unfinished: {lines}" if left else ""


def _whereabouts(progress: Progress, world: World) -> str:
  marks = world.admission.blocked_on(progress.id)
  wanted = "".join(f", wants {m.resource} of worker {m.worker}" for m in marks)
  where = f" on worker {progress.worker}" if progress.worker is not None else ""
  return f"request {progress.id} is {progress.state.value}{where}{wanted}"
