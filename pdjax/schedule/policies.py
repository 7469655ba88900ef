"""Policies: a placement and a batching rule, composed.

`decide` lets the placement move requests first, then asks the rule about each
free worker that changed, and interrupts a decode run that someone could join.
"""

from collections.abc import Iterator

from pdjax.events import Command, Event
from pdjax.schedule.batching import Batching
from pdjax.schedule.placement import Placement, interrupt
from pdjax.schedule.world import World


class Composed:
  """The policy of every built-in strategy, and of rules users write."""

  def __init__(self, placement: Placement, batching: Batching):
    self._placement = placement
    self._batching = batching

  def decide(self, event: Event, world: World) -> Iterator[Command]:
    yield from self._placement.place(event, world)
    for worker in world.touched_workers():
      if worker.free_lane is not None:
        yield from self._batching.batch(worker, world)
      elif world.wants_attention(worker):
        yield from interrupt(worker)
