"""What goes wrong in a run and when; both backends make it happen.

A plan is drawn from the config alone: what is done to a request's n-th transfer
does not depend on the order of events, so simulated and measured runs meet the
same faults. No scheduler sees it: what has happened is told by events.

Units: `_ps` integer picoseconds from the start of the run.
"""

import dataclasses
import heapq
import random
from collections import Counter

from pdjax.config import ConfigError, Fault, Faults
from pdjax.events import Cancelled, Deadline, WorkerBack, WorkerLost
from pdjax.request import Progress, State

PS_PER_S = 10**12

Strike = WorkerLost | WorkerBack | Cancelled | Deadline

MOST_LOSSES = 100_000
"""Of workers, drawn in a run: one that is lost more often never gets on."""

_TRANSFER = "transfer_"
"""What the kinds of faults begin with that hit transfers."""

_STATES = {
    "waiting": State.WAITING,
    "prefill": State.PREFILL,
    "handoff": State.HANDOFF,
    "transfer": State.TRANSFER,
    "decode": State.DECODE,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Harm:
  """What is done to one transfer."""

  kind: str
  """dropped, delayed, corrupted or slowed."""
  delay_ps: int = 0
  """Before its pages leave the source."""
  factor: float = 1.0
  """How often each byte crosses the link."""


class FaultPlan:
  """The faults of one run; keeps count, so each run has its own."""

  def __init__(self, faults: Faults, workers: int):
    self._faults = faults
    self._transfers: Counter[int] = Counter()
    """Begun so far, by request."""
    self._harms = [
        [fault, fault.times] for fault in faults.events
        if fault.kind.startswith(_TRANSFER)
    ]
    others = [f for f in faults.events if not f.kind.startswith(_TRANSFER)]
    self._watched = [fault for fault in others if fault.at_s is None]
    self._due: list[tuple[int, int, Fault | int]] = []
    self._pushed = 0
    self._lost: set[int] = set()
    self._drawn_losses = 0
    self._draws = [
        random.Random(f"{faults.seed} worker {worker}")
        for worker in range(workers)
    ]
    for fault in others:
      if fault.at_s is not None:
        self._push(_ps(fault.at_s), fault)
    for worker in range(workers):
      self._draw_loss(worker, 0)

  # Transfers. ----------------------------------------------------------------

  def of_transfer(self, request: int, now_ps: int) -> Harm | None:
    """What is done to the transfer of a request that begins now."""
    number = self._transfers[request]
    self._transfers[request] += 1
    for planned in self._harms:
      fault, left = planned
      if left and _concerns(fault, request, now_ps):
        planned[1] -= 1
        return self._harm(fault.kind.removeprefix(_TRANSFER))
    return self._drawn(request, number)

  def _drawn(self, request: int, number: int) -> Harm | None:
    shares = self._faults.shares
    if not any(shares.values()):
      return None
    seed = f"{self._faults.seed} transfer {request} {number}"
    left = random.Random(seed).random()
    for kind, share in shares.items():
      if left < share:
        return self._harm(kind)
      left -= share
    return None

  def _harm(self, kind: str) -> Harm:
    if kind == "delayed":
      return Harm(kind, delay_ps=_ps(self._faults.delay_s))
    if kind == "slowed":
      return Harm(kind, factor=self._faults.slow_factor)
    return Harm(kind)

  # Workers and clients. ------------------------------------------------------

  @property
  def due_ps(self) -> int | None:
    """When the next fault strikes, as far as is known; its time may be past."""
    return self._due[0][0] if self._due else None

  def losing(self, now_ps: int) -> list[int]:
    """Workers that are lost by now, which nobody has been told."""
    due = [what for at_ps, _, what in sorted(self._due) if at_ps <= now_ps]
    return [
        what.worker for what in due
        if isinstance(what, Fault) and what.kind == "worker_lost"
        and what.worker is not None and what.worker not in self._lost
    ]

  def look(self, requests: dict[int, Progress], now_ps: int) -> None:
    """Faults that wait for a state of a request strike now if it is in it."""
    for fault in self._watched[:]:
      assert fault.request is not None and fault.state is not None
      progress = requests.get(fault.request)
      if progress and progress.state is _STATES[fault.state]:
        self._watched.remove(fault)
        worker = fault.worker if fault.worker is not None else progress.worker
        self._push(now_ps, dataclasses.replace(fault, worker=worker))

  def take(
      self, requests: dict[int, Progress], now_ps: int
  ) -> Strike | None:
    """The next strike; None where it comes to nothing.

    It does where its request has ended or not arrived, or its worker is lost.
    """
    _, _, what = heapq.heappop(self._due)
    if isinstance(what, int):
      self._lost.remove(what)
      self._draw_loss(what, now_ps)
      return WorkerBack(now_ps, what)
    if what.kind == "worker_lost":
      return self._lose(what, now_ps)
    assert what.request is not None
    progress = requests.get(what.request)
    if progress is None or progress.ended:
      return None
    kind = Cancelled if what.kind == "cancelled" else Deadline
    return kind(now_ps, what.request)

  def _lose(self, fault: Fault, now_ps: int) -> WorkerLost | None:
    worker = fault.worker
    assert worker is not None
    if worker in self._lost:
      return None
    self._lost.add(worker)
    if fault.down_s is not None:
      self._push(now_ps + max(1, _ps(fault.down_s)), worker)
    return WorkerLost(now_ps, worker)

  def _draw_loss(self, worker: int, now_ps: int) -> None:
    """The next loss of a worker that is up, where losses are drawn.

    Raises:
      ConfigError: there have been more than any run of use has.
    """
    if self._faults.worker_up_s is None:
      return
    self._drawn_losses += 1
    if self._drawn_losses > MOST_LOSSES:
      raise ConfigError([
          f"faults.worker_up_s: workers were lost {MOST_LOSSES} times in"
          f" {now_ps / PS_PER_S:.3g} s of the run; at most so often, so let"
          " them be up or down for longer (faults.worker_up_s,"
          f" faults.worker_down_s): they are {self._faults.worker_up_s:g} s"
          f" and {self._faults.worker_down_s:g} s in the mean"
      ])
    draw = self._draws[worker]
    up_s = draw.expovariate(1 / self._faults.worker_up_s)
    down_s = draw.expovariate(1 / self._faults.worker_down_s)
    fault = Fault(kind="worker_lost", worker=worker, down_s=down_s)
    self._push(now_ps + max(1, _ps(up_s)), fault)

  def _push(self, at_ps: int, what: Fault | int) -> None:
    heapq.heappush(self._due, (at_ps, self._pushed, what))
    self._pushed += 1


def plan_of(faults: Faults, workers: int) -> FaultPlan | None:
  """A fresh plan; None where nothing goes wrong."""
  return FaultPlan(faults, workers) if faults.anything else None


def _concerns(fault: Fault, request: int, now_ps: int) -> bool:
  if fault.request is not None:
    return fault.request == request
  return fault.at_s is not None and _ps(fault.at_s) <= now_ps


def _ps(seconds: float) -> int:
  return round(seconds * PS_PER_S)
