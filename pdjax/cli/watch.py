"""A line of progress now and then while requests are served."""

import time
from collections.abc import Callable

from pdjax.events import Event
from pdjax.schedule.world import World

FIRST_S = 2.0
EVERY_S = 5.0


class Watch:
  """Called after every event of `serve`; speaks every few seconds."""

  def __init__(self, total: int, say: Callable[[str], None]):
    self._total, self._say = total, say
    self._started = time.monotonic()
    self._next = self._started + FIRST_S

  def __call__(self, event: Event, world: World) -> None:
    now = time.monotonic()
    if now < self._next:
      return
    self._next = now + EVERY_S
    done = len(world.progress) - world.unfinished
    seconds = now - self._started
    self._say(f"{done} of {self._total} requests, {seconds:.0f} s")
