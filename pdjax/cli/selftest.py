"""`--selftest_generator`: does the load come as it was configured?

Two questions to each workload of an experiment. *Drawn*: do the arrivals have
the rate and the coefficient of variation that the config asks for, up to
chance? *Delivered*: does the engine's own agenda, on the wall clock and with
nothing else to do, hand requests over when they are due, and no more of them at
a time than there are users? A request takes `SERVICE_S` here. The simulator's
clock delivers on time by construction, so only measured cells are asked the
second question.
"""

import dataclasses
import heapq
import queue
from collections.abc import Iterator, Sequence

import numpy as np

from pdjax import config
from pdjax.cli.plan import Part
from pdjax.cli.requests import workload_of
from pdjax.digits import plain
from pdjax.engine.agenda import Agenda
from pdjax.engine.clock import Clock
from pdjax.events import Arrived
from pdjax.workload.arrivals import PS_PER_S
from pdjax.workload.workload import Workload

SERVICE_S = 0.01
LONGEST_S = 5.0
"""Of wall time, for each workload."""
LATE_MS = 5.0
"""A generator whose p99 lag is above this is late."""
_ERRORS = 5
"""Standard errors that chance may account for."""


@dataclasses.dataclass(frozen=True)
class Check:
  """One question and its answer."""

  good: bool
  text: str


def selftest(parts: Sequence[Part]) -> Iterator[Check]:
  """Asks about each distinct workload, as it is drawn and as it is sent."""
  cells = [cell for part in parts for cell in part.cells.cells]
  asked: dict[config.Workload, bool] = {}
  for cell in cells:
    measured = cell.run.backend.kind == "jax"
    workload = cell.run.workload
    asked[workload] = asked.get(workload, False) or measured
  for workload, measured in asked.items():
    built = workload_of(workload)
    yield from drawn(workload, built)
    if measured:
      yield from delivered(workload, deliver(built))


def drawn(workload: config.Workload, built: Workload) -> Iterator[Check]:
  """Whether rate and variation are the config's, up to chance."""
  if built.behaviour is not None or workload.arrival == "all_at_once":
    count = len(built.requests)
    yield Check(True, f"{_name(workload)}: {count} requests prepared")
    return
  gaps_s = np.diff([r.arrival_ps for r in built.requests]) / PS_PER_S
  if len(gaps_s) < 2 or not gaps_s.any():
    yield Check(True, f"{_name(workload)}: too few gaps to check")
    return
  mean_s, cv = float(gaps_s.mean()), float(gaps_s.std() / gaps_s.mean())
  wanted = {"poisson": 1.0, "constant": 0.0, "gamma": workload.arrival_cv}.get(
      workload.arrival or ""
  )
  if workload.rate is not None:
    spread = cv if wanted is None else wanted
    error = spread / len(gaps_s) ** 0.5
    off = abs(mean_s * workload.rate - 1)
    yield Check(
        off <= _ERRORS * error + 1e-6,
        f"{_name(workload)}: drawn {plain(1 / mean_s, 4)}/s of"
        f" {workload.rate:g}/s over {len(gaps_s)} gaps",
    )
  if wanted is not None:
    # Of the coefficient of variation of a gamma law, to first order.
    error = wanted * ((1 + wanted**2) / len(gaps_s)) ** 0.5
    yield Check(
        abs(cv - wanted) <= _ERRORS * error + 1e-3,
        f"{_name(workload)}: drawn cv {cv:.3f} of {wanted:g}",
    )


@dataclasses.dataclass(frozen=True)
class Delivery:
  """What the agenda handed over on the wall clock."""

  lag_s: np.ndarray
  """Of each request, from when it was due."""
  due_s: np.ndarray
  most: int
  """Requests at a time."""


def deliver(
    built: Workload, longest_s: float = LONGEST_S, service_s: float = SERVICE_S
) -> Delivery:
  """Sends a workload to a server that answers after `service_s`."""
  agenda, clock = Agenda(built.clients()), Clock()
  reports: queue.SimpleQueue = queue.SimpleQueue()
  ends_ps: list[tuple[int, int]] = []
  lag_s, due_s, most = [], [], 0
  clock.start()
  while (now_ps := clock.now_ps()) < longest_s * PS_PER_S:
    due_ps = agenda.due_ps
    times_ps = [at for at in (due_ps, ends_ps[0][0] if ends_ps else None)
                if at is not None]
    if not times_ps:
      break
    if (wait_s := (min(times_ps) - now_ps) / PS_PER_S) > 0:
      _wait(reports, min(wait_s, longest_s))
    elif ends_ps and (due_ps is None or ends_ps[0][0] <= due_ps):
      _, request = heapq.heappop(ends_ps)
      agenda.ended(request, now_ps)
    elif isinstance(event := agenda.take(now_ps), Arrived):
      arrival_ps = event.request.arrival_ps
      lag_s.append((now_ps - arrival_ps) / PS_PER_S)
      due_s.append(arrival_ps / PS_PER_S)
      heapq.heappush(
          ends_ps, (now_ps + round(service_s * PS_PER_S), event.request.id)
      )
      most = max(most, len(ends_ps))
  return Delivery(np.array(lag_s), np.array(due_s), most)


def _wait(reports: queue.SimpleQueue, seconds: float) -> None:
  """As the engine waits: on the queue of its threads' reports."""
  try:
    reports.get(timeout=seconds)
  except queue.Empty:
    pass


def delivered(
    workload: config.Workload, sent: Delivery
) -> Iterator[Check]:
  """Whether requests were handed over in time, and how many at once."""
  if not len(sent.lag_s):
    yield Check(False, f"{_name(workload)}: nothing was delivered")
    return
  p99_ms = 1e3 * float(np.percentile(sent.lag_s, 99))
  span_s = float(np.ptp(sent.due_s))
  late_s = float(np.ptp(sent.due_s + sent.lag_s))
  pace = f", at {span_s / late_s:.2%} of the due pace" if late_s else ""
  yield Check(
      p99_ms <= LATE_MS,
      f"{_name(workload)}: {len(sent.lag_s)} delivered, client lag p99"
      f" {plain(p99_ms)} ms, max {plain(1e3 * sent.lag_s.max())} ms{pace}",
  )
  if workload.arrival == "closed" and workload.concurrency is not None:
    wanted = min(workload.concurrency, len(sent.lag_s))
    yield Check(
        sent.most == wanted,
        f"{_name(workload)}: {sent.most} requests at a time of"
        f" {workload.concurrency} users",
    )


def _name(workload: config.Workload) -> str:
  rate = f" {workload.rate:g}/s" if workload.rate is not None else ""
  return f"{workload.kind} {workload.arrival}{rate} seed {workload.seed}"
