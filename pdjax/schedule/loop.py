"""The loop that carries the program: one scheduler, any backend.

    next event -> the world applies it -> the policy decides -> commands start

The loop neither knows whether time is real nor what a step computes.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from pdjax.events import Command, Event, Log
from pdjax.request import Progress
from pdjax.schedule.world import World


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

  def next_event(self) -> Event | None: ...

  def start(self, command: Command, world: World) -> None: ...

  def settle(self, worker: int, lane: int) -> int: ...

  def resume(self, worker: int, lane: int, repeats: int) -> None: ...


class Stalled(RuntimeError):
  """Requests are unfinished and nothing is pending. Names who waits."""


def serve(
    policy: Policy,
    backend: Backend,
    world: World,
    watch: Callable[[Event, World], None] = lambda event, world: None,
) -> Log:
  """Serves until no event is left; returns the log of it.

  `watch` is called after each event has been dealt with, to show progress.

  Raises:
    Stalled: requests are left over and no event will ever come.
    IllegalCommand: the policy asked for what the world does not allow.
  """
  log = Log()
  world.attach(backend.settle, log)
  while (event := backend.next_event()) is not None:
    log.append(event.at_ps, event)
    world.apply(event)
    for command in policy.decide(event, world):
      started = world.start(command)
      log.append(event.at_ps, started)
      backend.start(started, world)
    for worker, lane, repeats in world.admission.let_go():
      backend.resume(worker, lane, repeats)
    watch(event, world)
  _refuse_leftovers(world)
  return log


def _refuse_leftovers(world: World) -> None:
  left = [p for p in world.progress.values() if not p.ended]
  if left:
    lines = "; ".join(_whereabouts(p, world) for p in left[:5])
    raise Stalled(f"{len(left)} requests unfinished, no event left: {lines}")


def _whereabouts(progress: Progress, world: World) -> str:
  marks = world.admission.blocked_on(progress.id)
  wanted = "".join(f", wants {m.resource} of worker {m.worker}" for m in marks)
  where = f" on worker {progress.worker}" if progress.worker is not None else ""
  return f"request {progress.id} is {progress.state.value}{where}{wanted}"
