"""What is due at a known time: arrivals and the scheduler's own timers.

Units: `_ps` integer picoseconds from the start of the run.
"""

import heapq
from collections.abc import Sequence

from pdjax.events import Arrived, Woke
from pdjax.request import Request


class Agenda:
  """Arrivals in the workload's order, timers in the order they ring."""

  def __init__(self, requests: Sequence[Request]):
    self._requests, self._arrived = requests, 0
    self._timers_ps: list[int] = []

  def wake(self, at_ps: int) -> None:
    """Sets a timer."""
    heapq.heappush(self._timers_ps, at_ps)

  @property
  def arriving(self) -> bool:
    """Whether requests are still to arrive."""
    return self._arrived < len(self._requests)

  @property
  def due_ps(self) -> int | None:
    """When the next thing is due; None if there is none."""
    times_ps = self._timers_ps[:1]
    if self.arriving:
      times_ps.append(self._requests[self._arrived].arrival_ps)
    return min(times_ps, default=None)

  def take(self, now_ps: int) -> Arrived | Woke:
    """The next thing, stamped; an arrival before a timer of the same time."""
    due_ps = self.due_ps
    if self.arriving:
      request = self._requests[self._arrived]
      if request.arrival_ps == due_ps:
        self._arrived += 1
        return Arrived(now_ps, request)
    return Woke(now_ps, heapq.heappop(self._timers_ps))
