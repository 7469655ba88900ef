"""Faults that strike workers and clients of an engine.

A worker to be lost is told to stop at the end of its step and to drop its pool;
until it has done so it is going, and what it still reports of steps that ended
later is not believed. Every order says which life of its worker it is meant
for: a worker answers orders of an earlier one as not done.

What is real: no order reaches a lost worker, its pages are freed on the device
and made anew when it comes back, nobody waits for it. What is not: its chips
work on the step under way to the end, its weights and programs stay, and a host
that dies would take longer to be noticed.

Units: `_ps` integer picoseconds from the start of the run.
"""

import bisect
import dataclasses

from pdjax.engine.control import RunControl
from pdjax.engine.crew import Crew
from pdjax.engine.orders import Gone, Made, RunOver, There
from pdjax.events import Event, WorkerBack, WorkerLost
from pdjax.faults import FaultPlan, Harm
from pdjax.schedule.world import World


class Strikes:
  """The faults of one run as the scheduler's thread carries them out."""

  def __init__(self, plan: FaultPlan | None, crew: Crew):
    """Without a plan nothing ever strikes."""
    self._plan, self._crew = plan, crew
    self._world: World | None = None
    self._going_ps: dict[int, int] = {}
    """Workers that are told to stop, since when."""
    self._lost: list[int] = []
    self._coming = 0

  @property
  def any(self) -> bool:
    """Whether anything may go wrong at all."""
    return self._plan is not None

  def recall(self) -> None:
    """Has every lost worker come back, whatever was planned."""
    for worker in self._lost:
      self._coming += 1
      self._crew.workers[worker].come_back()

  @property
  def pending(self) -> bool:
    """Whether a worker is going or coming back."""
    return bool(self._going_ps or self._coming)

  @property
  def due_ps(self) -> int | None:
    return self._plan.due_ps if self._plan else None

  def see(self, world: World) -> None:
    """Where faults look for the state that they wait for."""
    self._world = world

  def look(self, now_ps: int) -> None:
    """Faults that wait for a state strike if a request is in it."""
    if self._plan and self._world:
      self._plan.look(self._world.progress, now_ps)

  def harm_to(self, request: int, now_ps: int) -> Harm | None:
    """What is done to a transfer that begins now."""
    return self._plan.of_transfer(request, now_ps) if self._plan else None

  def take(
      self, now_ps: int, controls: dict[int, RunControl]
  ) -> Event | None:
    """Lets the next fault strike; None if its event is still to come."""
    assert self._plan is not None
    requests = self._world.progress if self._world else {}
    event = self._plan.take(requests, now_ps)
    match event:
      case WorkerLost():
        self._going_ps[event.worker] = now_ps
        if control := controls.get(event.worker):
          control.stop()
        self._crew.workers[event.worker].lose()
      case WorkerBack(worker=worker):
        self._coming += 1
        self._crew.workers[worker].come_back()
      case _:
        return event
    return None

  def believed(self, over: RunOver) -> RunOver | None:
    """A run without the steps that ended after its worker was lost, if any."""
    lost_ps = self._going_ps.get(over.worker)
    if lost_ps is None or over.ends_ps[-1] <= lost_ps:
      return over
    steps = bisect.bisect_right(over.ends_ps, lost_ps)
    return _first_steps(over, steps) if steps else None

  def gone(self, report: Gone, now_ps: int) -> WorkerLost:
    del self._going_ps[report.worker]
    self._lost.append(report.worker)
    self._crew.workers[report.worker].life += 1
    return WorkerLost(now_ps, report.worker)

  def there(self, report: There, now_ps: int) -> WorkerBack:
    self._coming -= 1
    self._lost.remove(report.worker)
    return WorkerBack(now_ps, report.worker)


def _first_steps(over: RunOver, steps: int) -> RunOver:
  made = tuple(
      Made(
          one.request, one.tokens[:steps], one.gaps[:steps],
          one.done and len(one.tokens) <= steps,
      )
      for one in over.made
  )
  return dataclasses.replace(over, ends_ps=over.ends_ps[:steps], made=made)
