"""A line of progress now and then, so that a terminal stays readable."""

import time
from collections.abc import Callable

from pdjax.events import Event
from pdjax.schedule.world import World

FIRST_S = 2.0
LEAST_S, MOST_S = 3.0, 15.0
"""Between two lines; the longer it takes, the fewer."""


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
    seconds = now - self._started
    self._next = now + min(MOST_S, max(LEAST_S, seconds))
    done = len(world.progress) - world.unfinished
    self._say(f"{done} of {self._total} requests, {seconds:.0f} s")


class Throttle:
  """Passes on a line at most every `LEAST_S` seconds; others are dropped."""

  def __init__(self, say: Callable[[str], None]):
    self._say = say
    self._next = 0.0

  def __call__(self, text: str) -> None:
    now = time.monotonic()
    if now >= self._next:
      self._next = now + LEAST_S
      self._say(text)
