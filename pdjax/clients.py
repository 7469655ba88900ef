"""Who sends a run's requests, as backends see them.

What a client does next may depend on what has become of its last request, so
backends ask one event at a time and tell when a request ends. Both backends
take the same objects; `pdjax.workload.clients` has them.
"""

from typing import Protocol

from pdjax.events import Arrived, Cancelled, Deadline

ClientEvent = Arrived | Cancelled | Deadline


class Clients(Protocol):
  """Everyone who sends requests."""

  def due(self) -> ClientEvent | None:
    """What a client does next, as things are now; its time may be past."""
    ...

  def take(self) -> None:
    """What is due has happened."""
    ...

  def ended(self, request: int, at_ps: int) -> None:
    """A request is over for its client, however it ended."""
    ...

