"""What is due at a known time: the clients' doings, the scheduler's timers.

Units: `_ps` integer picoseconds from the start of the run.
"""

import dataclasses
import heapq

from pdjax.clients import ClientEvent, Clients
from pdjax.events import Woke


class Agenda:
  """What clients do in their order, timers in the order they ring."""

  def __init__(self, clients: Clients):
    self._clients = clients
    self._timers_ps: list[int] = []

  def wake(self, at_ps: int) -> None:
    """Sets a timer."""
    heapq.heappush(self._timers_ps, at_ps)

  def ended(self, request: int, at_ps: int) -> None:
    """Tells the clients that a request is over."""
    self._clients.ended(request, at_ps)

  @property
  def arriving(self) -> bool:
    """Whether clients are still to send requests, as things are now."""
    return self._clients.due() is not None

  @property
  def due_ps(self) -> int | None:
    """When the next thing is due; None if there is none."""
    times_ps = self._timers_ps[:1]
    if event := self._clients.due():
      times_ps.append(event.at_ps)
    return min(times_ps, default=None)

  def take(self, now_ps: int) -> ClientEvent | Woke:
    """The next thing, stamped; a client's before a timer of the same time."""
    event = self._clients.due()
    if event and event.at_ps == self.due_ps:
      self._clients.take()
      return dataclasses.replace(event, at_ps=now_ps)
    return Woke(now_ps, heapq.heappop(self._timers_ps))
