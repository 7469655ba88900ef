"""A worker's host thread: does orders from its queue, one after the other.

The thread alone uses its replica. Gathers and scatters of transfers run
between two steps, also inside a decode run. What comes of the orders goes to
one queue of reports that the scheduler's thread reads.
"""

import queue
import threading
from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np

from pdjax import tracks
from pdjax.buckets import rung
from pdjax.engine import packing
from pdjax.engine.clock import Clock
from pdjax.engine.hoststore import HostStore
from pdjax.engine.orders import (
  Broke,
  GatherOrder,
  Gone,
  HostOrder,
  Lose,
  Ready,
  Report,
  Return,
  RunOver,
  Said,
  ScatterOrder,
  StepOrder,
  There,
  Undone,
)
from pdjax.engine.replica import Replica
from pdjax.engine.steps import DecodeRun, Padding, PromptStep, Spoken
from pdjax.engine.stopping import Stops
from pdjax.engine.tally import Tally
from pdjax.marks import marked

Errand = Callable[[Replica], None]
Order = (
    StepOrder | GatherOrder | ScatterOrder | HostOrder | Lose | Return | Errand
)
Ship = Callable[[GatherOrder, Any, jax.Array | None], None]


class Worker:
  """One replica and the thread that works it.

  Args:
    id: the worker's number.
    name: its role and number, as timelines have it.
    replica: handed over; nobody else may use it from now on.
    clock: of the run.
    reports: where `RunOver`, `Ready`, `Broke` and the like go.
    tally: told of transfers that are over.
    ship: takes what a gather copied, with its checksums.
    ahead: `engine.dispatch_ahead`.
    stops: strings that end an answer.
    tells: `Said` is reported too, after each step.
  """

  def __init__(
      self,
      id: int,
      name: str,
      replica: Replica,
      clock: Clock,
      reports: "queue.SimpleQueue[Report]",
      tally: Tally,
      ship: Ship,
      ahead: int,
      stops: Stops,
      tells: bool,
  ):
    self.id, self.replica, self.padding = id, replica, Padding()
    self.name, self._track = name, tracks.of_worker(name)
    self._clock, self._reports, self._tally = clock, reports, tally
    self._ship, self._ahead = ship, ahead
    self._stops, self._tells = stops, tells
    self._orders: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
    self.host = HostStore()
    self._closing = self._losing = self._lost = False
    self._lives = 0
    """It has lost, as its thread counts them."""
    self.life = 0
    """Likewise, as the scheduler has been told."""
    self._thread = threading.Thread(
        target=self._main, name=self._track, daemon=True
    )
    self._thread.start()

  def submit(self, order: Order) -> None:
    """Queues an order. An errand is answered by `Ready` when it is done."""
    self._orders.put(order)

  def lose(self) -> None:
    """Has it drop its pool between two steps; `Gone` says when it has."""
    self._orders.put(Lose())

  def come_back(self) -> None:
    """Has it make an empty pool; `There` says when it has."""
    self._orders.put(Return())

  def close(self) -> None:
    """Ends the thread when it is through with what it has begun."""
    self._orders.put(None)
    self._thread.join()

  def _main(self) -> None:
    try:
      while not self._closing:
        self._do(self._orders.get())
        if self._losing:
          self._go()
    except BaseException as error:
      self._reports.put(Broke(f"worker {self.id}", error))

  @property
  def lives(self) -> int:
    """Lives that are over; another thread may be behind."""
    return self._lives

  def _do(self, order: Order | None) -> None:
    match order:
      case HostOrder():
        if not self._lost and order.life == self._lives:
          self.host.do(self.replica, order.moves)
      case StepOrder() | GatherOrder() | ScatterOrder() if (
          self._lost or order.life != self._lives
      ):
        self._refuse(order)
      case StepOrder():
        self._step(order)
      case Lose():
        self._losing = True
      case Return():
        self.replica.renew()
        self._lost = False
        self._reports.put(There(self.id))
      case GatherOrder():
        self._gather(order)
      case ScatterOrder():
        with marked(self._track, tracks.SCATTER, transfer=order.transfer):
          self._scatter(order)
      case None:
        self._closing = True
      case _:
        order(self.replica)
        self._reports.put(Ready(self.id))

  def _gather(self, order: GatherOrder) -> None:
    first_layer = order.group.first_layer if order.group else None
    with marked(self._track, tracks.GATHER, transfer=order.transfer):
      page_M = self._padded(order.pages)
      self._ship(order, *self.replica.gather(page_M, first_layer))

  def _step(self, order: StepOrder) -> None:
    started_ps = self._clock.now_ps()
    ends_ps: list[int] = []

    def landed(spoken: Iterable[Spoken]) -> None:
      ends_ps.append(self._clock.now_ps())
      if self._tells:
        self._reports.put(Said(tuple(spoken)))
      self._move_pages()

    span = tracks.of_steps(
        prefill=bool(order.chunks), decode=bool(order.decodes)
    )
    told = (order, self.replica, self.padding, self._stops)
    with marked(self._track, span, run=order.run, decodes=len(order.decodes)):
      step = (
          PromptStep(*told, self._gather) if order.chunks else DecodeRun(*told)
      )
      made = tuple(step.execute(self._ahead, landed))
    self._reports.put(
        RunOver(self.id, order.run, started_ps, tuple(ends_ps), made)
    )

  def _move_pages(self) -> None:
    """Does what transfers have queued up; a step cannot be among it.

    If the worker is to go, this was the run's last step.
    """
    while not self._losing and not self._orders.empty():
      self._do(self._orders.get())

  def _go(self) -> None:
    self.replica.drop()
    self.host.clear()
    self._losing, self._lost = False, True
    self._reports.put(Gone(self.id))
    self._lives += 1  # whoever sees it finds `Gone` told

  def _refuse(self, order: StepOrder | GatherOrder | ScatterOrder) -> None:
    """Answers what was meant for a life that is over."""
    why = f"worker {self.id} was lost"
    if not isinstance(order, StepOrder):
      self._tally.over(order.transfer, order.group, why)
      return
    self._reports.put(Undone(self.id, order.run))
    for gather in order.gathers:
      self._tally.over(gather.transfer, None, why)

  def _scatter(self, order: ScatterOrder) -> None:
    group = order.group
    sums = self.replica.scatter(
        order.staging, self._padded(order.pages),
        group.first_layer if group else None,
    )
    self.replica.wait()
    failure = ""
    if order.checksums is not None and sums is not None:
      failure = mismatch(order.checksums, np.asarray(sums), len(order.pages))
    self._tally.over(order.transfer, group, failure)

  def _padded(self, pages: tuple[int, ...]) -> np.ndarray:
    ladder = self.replica.buckets.staging_M
    return packing.padded(pages, rung(ladder, len(pages)))


def mismatch(there: np.ndarray, here: np.ndarray, pages: int) -> str:
  """Which pages' checksums differ between the ends; nothing if none do.

  Args:
    there: uint32 [copies, M] at the source.
    here: the same at the target, perhaps with other copies and padding.
    pages: how many of M are real.
  """
  rows = [*there[:, :pages], *here[:, :pages]]
  wrong = np.flatnonzero((np.stack(rows) != rows[0]).any(axis=0))
  if not wrong.size:
    return ""
  return f"checksums differ on {wrong.size} of {pages} pages: {wrong[:5]}"
