"""Policies: a placement and a batching rule, composed.

`decide` lets the placement route and send what is prefilled, then asks the rule
about each free worker that changed, and interrupts a decode run that someone
could join. Sending comes first, so that pages are gathered before their worker
begins its next step; and once more at the end, since batching may have made
room: what could start now must not wait for an unrelated event. Places on other
workers are reserved before the rule is asked who is to start; for the same
reason that, too, goes on until nobody more has found one.
"""

from collections.abc import Callable, Iterator

from pdjax.events import Command, Event, Reserve
from pdjax.schedule.batching import Batching, left_out
from pdjax.schedule.decisions import asked
from pdjax.schedule.placement import Placement, interrupt
from pdjax.schedule.worker import Worker
from pdjax.schedule.world import World

Joins = Callable[[Worker, World], bool]
"""Whether someone might join a worker's decode run if it ended now."""


def head_joins(worker: Worker, world: World) -> bool:
  """For rules that admit in the order of the queue, as all built-ins do."""
  return left_out(worker) or world.next_admissible(worker) is not None


def anyone_joins(worker: Worker, world: World) -> bool:
  """For rules of any kind: whoever waits might be the one."""
  return left_out(worker) or bool(worker.waiting)


def nobody_joins(worker: Worker, world: World) -> bool:
  """For rules that let a batch run to its end."""
  return False


def decodes_join(worker: Worker, world: World) -> bool:
  """For rules that never put prompts beside decodes."""
  return left_out(worker)


class Composed:
  """The policy of every built-in strategy, and of rules users write."""

  def __init__(
      self,
      placement: Placement,
      batching: Batching,
      joins: Joins = head_joins,
  ):
    self._placement = placement
    self._batching = batching
    self._joins = joins

  def decide(self, event: Event, world: World) -> Iterator[Command]:
    yield from self._placement.place(event, world)
    yield from self._placement.move(world)
    yield from self._placement.prepare(world)
    found = True
    while found:
      yield from self._batched(world)
      yield from self._placement.move(world)
      found = False
      for command in self._placement.prepare(world):
        found = found or type(command) is Reserve
        yield command

  def _batched(self, world: World) -> Iterator[Command]:
    for worker in world.touched_workers():
      if None in worker.runs:
        yield from asked(self._batching.batch, worker, world)
      elif worker.interruptible and self._joins(worker, world):
        yield from interrupt(worker)
