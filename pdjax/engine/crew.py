"""The threads of one engine: a worker each, and the one that moves pages.

Knows how they are started, wired to each other, and what happens when one of
them dies; not what a scheduler wants from them.
"""

import functools
import itertools
import queue
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax

from pdjax import tracks
from pdjax.engine.clock import Clock
from pdjax.engine.orders import (
    Broke,
    Compiled,
    GatherOrder,
    Group,
    Landed,
    Ready,
    Report,
)
from pdjax.engine.passage import Passage, later
from pdjax.engine.replica import Replica
from pdjax.engine.slowlink import SlowLink
from pdjax.engine.stopping import Stops
from pdjax.engine.tally import Tally
from pdjax.engine.worker import Errand, Worker
from pdjax.transfer import Mover, Put, Shipment

Progress = Callable[[str], None]


class EngineError(RuntimeError):
  """A thread of the engine died; the message says which, and of what."""


class Crew:
  """All threads. `close` ends them.

  Args:
    replicas: one a worker, in order.
    names: of the workers, as timelines have them.
    clock: of the run.
    ahead: `engine.dispatch_ahead`.
    put: moves arrays between meshes.
    stops: strings that end an answer.
    tells: workers report `Said` too.
    slow: keeps what moves back, as a slower link would.
  """

  def __init__(
      self,
      replicas: Sequence[Replica],
      names: Sequence[str],
      clock: Clock,
      ahead: int,
      put: Put,
      stops: Stops,
      tells: bool,
      slow: SlowLink | None = None,
  ):
    self.slow = slow
    self._reports: queue.SimpleQueue[Report] = queue.SimpleQueue()
    self._mover = Mover(self._mover_failed, put)
    self._tally = Tally(self._reports)
    self._closing = False
    self.workers = [
        Worker(
            index, name, replica, clock, self._reports, self._tally,
            functools.partial(self._ship, index), ahead, stops, tells,
        )
        for index, (name, replica) in enumerate(
            zip(names, replicas, strict=True)
        )
    ]

  def next_report(self, timeout_s: float | None = None) -> Report | None:
    """The next report; None if there is none in time.

    Raises:
      EngineError: a thread has died.
    """
    try:
      report = self._reports.get(timeout=timeout_s)
    except queue.Empty:
      return None
    if isinstance(report, Broke):
      error = report.error
      raise EngineError(
          f"{report.where} failed: {type(error).__name__}: {error}"
      ) from error
    return report

  def prepare(self, progress: Progress) -> None:
    """Compiles and rehearses everything, transfers too; all workers at once."""
    total = sum(
        len(worker.replica.buckets.shapes()) for worker in self.workers
    )
    done = 0
    for report in self.errand(self._prepare_errand):
      if isinstance(report, Compiled):
        done += 1
        progress(
            f"compiled {done}/{total}: worker {report.worker}"
            f" {report.program}"
        )
    self._rehearse_transfers()

  def errand(
      self, errand_of: Callable[[Worker], Errand]
  ) -> Iterator[Report]:
    """Has every worker do something; yields reports until all are through."""
    for worker in self.workers:
      worker.submit(errand_of(worker))
    waiting = len(self.workers)
    while waiting:
      report = self.next_report()
      waiting -= isinstance(report, Ready)
      if report is not None:
        yield report

  def close(self) -> None:
    """Ends all threads; those that compile, after the program under way."""
    self._closing = True
    for worker in self.workers:
      worker.close()
    self._mover.close()

  def _prepare_errand(self, worker: Worker) -> Errand:
    def told(shape):
      if self._closing:
        raise EngineError("closed while it was preparing")
      self._reports.put(Compiled(worker.id, str(shape)))

    return lambda replica: replica.prepare(told)

  def _rehearse_transfers(self) -> None:
    """Moves the sentinel once along every path and in every size."""
    for source in self.workers:
      for target in self.workers:
        there, here = source.replica.buckets, target.replica.buckets
        if "gather" in there.kinds and "scatter" in here.kinds:
          for M, group in itertools.product(
              there.staging_M, _groups(there.kinds)
          ):
            pages = (0,) * M
            source.submit(GatherOrder(
                -1, pages, target.id, pages, group=group
            ))
            while not isinstance(self.next_report(), Landed):
              pass

  def _ship(
      self,
      source_id: int,
      order: GatherOrder,
      staging: Any,
      sums: jax.Array | None,
  ) -> None:
    """Called by the source's thread; the mover's thread goes on from here."""
    source, target = self.workers[source_id], self.workers[order.target]
    passage = Passage(
        order, sums, source, target, self._reports, self._tally,
        self.slow if order.transfer >= 0 else None,
    )
    shipment = Shipment(
        staging, target.replica.staging_for(staging), passage.gathered,
        passage.sent, tracks.of_link(source.name, target.name),
    )
    if order.harm and order.harm.delay_ps:
      later(order.harm.delay_ps / 1e12, lambda: self._mover.ship(shipment))
    else:
      self._mover.ship(shipment)

  def _mover_failed(self, error: BaseException) -> None:
    self._reports.put(Broke("transfer thread", error))


def _groups(kinds: Sequence[str]) -> list[Group | None]:
  """What may move at a time: all layers, or a group of them."""
  some = Group(0, first=True, last=True, count=1)
  return [None, some] if "gather_layers" in kinds else [None]
