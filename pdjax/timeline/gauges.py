"""How much waits, runs and is free on each worker, from one event to the next.

Pages are nowhere in the log: they follow from it. So it is replayed, decision
by decision, and the world is read after each event.

Units: `_ns` integer nanoseconds from the start of the run.
"""

import dataclasses

import numpy as np

from pdjax.events import Event, Log
from pdjax.request import State
from pdjax.schedule.loop import Policy, serve
from pdjax.schedule.replay import ReplayBackend
from pdjax.schedule.world import World

GAUGES = ("queue", "handoffs", "batch", "free_pages")


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Gauges:
  """Readings after each event at which one of them had changed."""

  at_ns: np.ndarray
  """[readings], each time once, growing."""
  queue: np.ndarray
  """[readings, workers], requests that hold no pages."""
  handoffs: np.ndarray
  """[readings, workers], prompts computed here that wait for a place on
  another worker: no transfer of them has begun."""
  batch: np.ndarray
  """[readings, workers], requests in the steps that run."""
  free_pages: np.ndarray
  """[readings, workers]; pages granted to steps yet to run are not free."""

  def __len__(self) -> int:
    return len(self.at_ns)


class _Watcher(ReplayBackend):
  """Replays a log and reads the world between two events."""

  def __init__(self, log: Log, world: World):
    super().__init__(log)
    self._world = world
    self.readings: dict[int, list[list[int]]] = {}
    self._last: list[list[int]] = []

  def next_event(self) -> Event | None:
    seen = [
        [
            len(worker.waiting),
            sum(p.state is State.HANDOFF for p in worker.leaving.values()),
            sum(
                len(run.decodes) + len(run.prompts)
                for run in worker.runs if run
            ),
            worker.pool.free_pages,
        ]
        for worker in self._world.workers
    ]
    if seen != self._last:
      self.readings[self._world.now_ps // 1000] = self._last = seen
    return super().next_event()


def gauges_of(log: Log, policy: Policy, world: World) -> Gauges:
  """Replays `log`; `policy` and `world` are fresh.

  Raises:
    Diverged: the scheduler does not repeat the log.
  """
  watcher = _Watcher(log, world)
  serve(policy, watcher, world)
  table = np.array(list(watcher.readings.values()), np.int64)
  queue, handoffs, batch, free_pages = np.moveaxis(table, 2, 0)
  at_ns = np.array(list(watcher.readings), np.int64)
  return Gauges(at_ns, queue, handoffs, batch, free_pages)
