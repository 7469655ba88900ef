"""Clients: who sends the requests of a run, and when.

`Open` clients come at times fixed beforehand, however slow the system is.
`Users` send their next request some time after their last one ended: a closed
loop when there is a fixed number of them, a semi-open one when they come by
themselves and leave after some requests (Schroeder, Wierman, Harchol-Balter,
"Open versus closed: a cautionary tale", NSDI 2006). `Conversations` begin at
fixed times too, and their turns wait for each other. `Steady` watches over any
of them until every request of the measured window has ended, and hangs up on
the others then.

Request numbers follow the order of arrival, of conversations that of their
beginnings: all turns of one, then those of the next. Units: `_ps` integer
picoseconds.
"""

import dataclasses
import heapq
from collections.abc import Mapping, Sequence

from pdjax.clients import ClientEvent, Clients
from pdjax.events import Arrived, Cancelled
from pdjax.request import Request
from pdjax.window import Window
from pdjax.workload.impatient import Impatient

NOBODY: Mapping[int, int] = {}


class Open:
  """Arrivals whose times do not depend on the system."""

  def __init__(self, requests: Sequence[Request]):
    self._requests = iter(requests)
    self.take()

  def due(self) -> Arrived | None:
    return self._due

  def take(self) -> None:
    request = next(self._requests, None)
    self._due = request and Arrived(request.arrival_ps, request)

  def ended(self, request: int, at_ps: int) -> None:
    """Is of no interest to them."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
  """What users do, whatever the system does; drawn beforehand."""

  first_ps: tuple[int, ...]
  """When each user sends a first request."""
  think_ps: tuple[int, ...]
  """After each request, by number, until its user's next one."""
  stays: tuple[bool, ...]
  """Whether its user sends a next one, by number."""


class Users:
  """Clients with one request at a time each.

  `requests` are what they ask for, in order of arrival whoever asks; the times
  in them are replaced.
  """

  def __init__(self, requests: Sequence[Request], behaviour: Behaviour):
    self._requests = requests
    self._think_ps, self._stays = behaviour.think_ps, behaviour.stays
    self._sending_ps = list(behaviour.first_ps)
    heapq.heapify(self._sending_ps)
    self._sent = 0
    self._present: set[int] = set()
    self._due = self._next()

  def due(self) -> Arrived | None:
    return self._due

  def take(self) -> None:
    heapq.heappop(self._sending_ps)
    self._present.add(self._requests[self._sent].id)
    self._sent += 1
    self._due = self._next()

  def ended(self, request: int, at_ps: int) -> None:
    """The first time counts: who gave up may still be served by a step."""
    staying = request in self._present and self._stays[request]
    self._present.discard(request)
    if staying:
      heapq.heappush(self._sending_ps, at_ps + self._think_ps[request])
      self._due = self._next()

  def _next(self) -> Arrived | None:
    if not self._sending_ps or self._sent == len(self._requests):
      return None
    at_ps, request = self._sending_ps[0], self._requests[self._sent]
    return Arrived(at_ps, request.arriving_at(at_ps))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
  """Of people in conversations, drawn beforehand."""

  think_ps: tuple[int, ...]
  """After each request, by number, until the next turn."""


class Conversations:
  """Requests that continue each other, a turn at a time.

  A conversation begins at the time in its first request. Each next turn comes
  some time after the one before has ended, whatever has become of that: so all
  rivals are asked the same. `requests` are by number, and a conversation's
  turns are next to each other.
  """

  def __init__(self, requests: Sequence[Request], pauses: Pauses):
    self._requests, self._think_ps = requests, pauses.think_ps
    self._sending = [
        (request.arrival_ps, request.id)
        for request in requests
        if not self._continues(request.id)
    ]
    heapq.heapify(self._sending)
    self._present: set[int] = set()
    self._due = self._next()

  def due(self) -> Arrived | None:
    return self._due

  def take(self) -> None:
    _, id = heapq.heappop(self._sending)
    self._present.add(id)
    self._due = self._next()

  def ended(self, request: int, at_ps: int) -> None:
    """The first time counts, as of `Users`."""
    if request in self._present and self._continues(request + 1):
      at_ps += self._think_ps[request]
      heapq.heappush(self._sending, (at_ps, request + 1))
      self._due = self._next()
    self._present.discard(request)

  def _next(self) -> Arrived | None:
    if not self._sending:
      return None
    at_ps, id = self._sending[0]
    return Arrived(at_ps, self._requests[id].arriving_at(at_ps))

  def _continues(self, id: int) -> bool:
    """Whether there is a request of this number that continues the last."""
    if not 0 < id < len(self._requests):
      return False
    return continues(self._requests[id - 1], self._requests[id])


def continues(last: Request, request: Request) -> bool:
  """Whether two requests with successive numbers are of one conversation."""
  return request.session is not None and last.session == request.session


class Steady:
  """Goes on until every measured request has ended, then ends the rest."""

  def __init__(self, clients: Clients, window: Window):
    self._clients, self._window = clients, window
    self._measured: set[int] = set()
    self._others: dict[int, None] = {}
    self._over_ps = 0
    """When the last measured request ended."""

  def due(self) -> ClientEvent | None:
    event = self._clients.due()
    if self._goes_on(event):
      return event
    for request in self._others:
      return Cancelled(max(self._over_ps, self._window.end_ps), request)
    return None

  def take(self) -> None:
    event = self._clients.due()
    if not self._goes_on(event):
      del self._others[next(iter(self._others))]
      return
    if isinstance(event, Arrived):
      request = event.request
      if self._window.holds(request.arrival_ps):
        self._measured.add(request.id)
      else:
        self._others[request.id] = None
    self._clients.take()

  def _goes_on(self, event: ClientEvent | None) -> bool:
    """Whether what the clients do next is still of interest."""
    before_end = event is not None and event.at_ps < self._window.end_ps
    return bool(self._measured) or before_end

  def ended(self, request: int, at_ps: int) -> None:
    self._measured.discard(request)
    self._others.pop(request, None)
    self._over_ps = at_ps
    self._clients.ended(request, at_ps)


def clients_of(
    requests: Sequence[Request],
    behaviour: Behaviour | Pauses | None = None,
    window: Window | None = None,
    cancel_after_ps: Mapping[int, int] = NOBODY,
) -> Clients:
  """Who sends `requests`, at the start of a run."""
  everyone: Clients = Open(requests)
  if isinstance(behaviour, Pauses):
    everyone = Conversations(requests, behaviour)
  elif behaviour is not None:
    everyone = Users(requests, behaviour)
  if cancel_after_ps or any(r.deadline_ps is not None for r in requests):
    everyone = Impatient(everyone, cancel_after_ps)
  return Steady(everyone, window) if window else everyone
