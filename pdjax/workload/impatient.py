"""Clients that give up, and requests whose deadlines pass.

Neither befalls a request that has ended. Units: `_ps` integer picoseconds.
"""

import heapq
from collections.abc import Mapping

from pdjax.clients import ClientEvent, Clients
from pdjax.events import Arrived, Cancelled, Deadline, delivery_key
from pdjax.request import Request


class Impatient:
  """Watches over the requests of other clients, from arrival to end.

  Args:
    clients: who sends them.
    cancel_after_ps: how long after its arrival a request's client gives up, by
      number, of those that do.
  """

  def __init__(self, clients: Clients, cancel_after_ps: Mapping[int, int]):
    self._clients, self._cancel_after_ps = clients, cancel_after_ps
    self._limits: list[tuple[tuple[int, int, int], Cancelled | Deadline]] = []
    self._present: set[int] = set()

  def due(self) -> ClientEvent | None:
    limit, event = self._next_limit(), self._clients.due()
    if limit and (not event or delivery_key(limit) < delivery_key(event)):
      return limit
    return event

  def take(self) -> None:
    event = self.due()
    if isinstance(event, Arrived):
      self._clients.take()
      self._watch(event.request)
    else:
      heapq.heappop(self._limits)

  def ended(self, request: int, at_ps: int) -> None:
    self._present.discard(request)
    self._clients.ended(request, at_ps)

  def _next_limit(self) -> Cancelled | Deadline | None:
    limits = self._limits
    while limits and limits[0][1].request not in self._present:
      heapq.heappop(limits)
    return limits[0][1] if limits else None

  def _watch(self, request: Request) -> None:
    self._present.add(request.id)
    limits = []
    if after_ps := self._cancel_after_ps.get(request.id):
      limits.append(Cancelled(request.arrival_ps + after_ps, request.id))
    if request.deadline_ps is not None:
      limits.append(Deadline(request.deadline_ps, request.id))
    for limit in limits:
      heapq.heappush(self._limits, (delivery_key(limit), limit))
