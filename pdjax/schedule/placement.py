"""Placements: where a request prefills and where it decodes."""

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Protocol

from pdjax.config import WHOLE_REQUESTS, TransferPlan
from pdjax.events import (
  Abort,
  Cancelled,
  Command,
  Deadline,
  Event,
  Fail,
  Interrupt,
  Reject,
  Reserve,
  Route,
  Transfer,
  TransferEnded,
  WorkerLost,
)
from pdjax.request import Progress
from pdjax.schedule.ahead import Ahead, needs_place
from pdjax.schedule.recovery import Recovery
from pdjax.schedule.routing import Router
from pdjax.schedule.worker import Worker
from pdjax.schedule.world import World

UNTOWARD = (Cancelled, Deadline, TransferEnded, WorkerLost)
"""Events after which a request may not go on as it would have."""


class Placement(Protocol):
  """Moves requests to workers and between them."""

  def place(self, event: Event, world: World) -> Iterable[Command]:
    """Routes what has arrived or lost its worker; ends what is given up."""
    ...

  def move(self, world: World) -> Iterable[Command]:
    """Sends what can be sent from worker to worker; asked twice an event."""
    ...

  def prepare(self, world: World) -> Iterable[Command]:
    """Reserves on other workers for those who are to start."""
    ...


class Colocated:
  """A request prefills and decodes on the one worker it is routed to."""

  def __init__(self, router: Router, recovery: Recovery | None = None):
    self._router = router
    self._recovery = recovery or Recovery()

  def place(self, event: Event, world: World) -> Iterable[Command]:
    return place_each(event, world, self._recovery, self._placed)

  def _placed(self, progress: Progress, world: World) -> Iterable[Command]:
    return routed(
        progress, world, world.up, "PDC", self._router, self._recovery
    )

  def move(self, world: World) -> Iterable[Command]:
    return ()

  def prepare(self, world: World) -> Iterable[Command]:
    return ()


class Disaggregated:
  """A P worker prefills, the pages move, a D worker decodes.

  DistServe (OSDI'24), Splitwise (ISCA'24). The decode worker is chosen when the
  prefill is done. A hand-off that finds no room waits on P and holds its pages
  there; later ones may pass it. A request of one token ends on P. A hand-off
  waits for whoever is in D's queue and came before it, so none starves. Who
  loses its pages prefills on P again, prompt and answer so far.

  Args:
    plan: when D is chosen and its pages are reserved, and what moves when.
    serving: gives the workers of a role that take new work.
    recovery: what becomes of requests that a fault has hit.
  """

  def __init__(
      self,
      prefill_router: Router,
      decode_router: Router,
      plan: TransferPlan = WHOLE_REQUESTS,
      serving: Callable[[World, str], list[Worker]] = World.with_role,
      recovery: Recovery | None = None,
  ):
    self._recovery = recovery or Recovery()
    self._prefill_router = prefill_router
    self._decode_router = decode_router
    self._serving = serving
    self._in_chunks = plan.granularity != "request"
    self._layers = plan.group_layers
    self._pushes = plan.direction == "push"
    self._chosen: dict[int, int] = {}
    """The D worker that each request is pushed to."""
    self._ahead = None
    if plan.reserves_at != "prefill_end":
      self._ahead = Ahead(plan.reserves_at == "arrival", self._find)

  def place(self, event: Event, world: World) -> Iterable[Command]:
    return place_each(event, world, self._recovery, self.placed)

  def placed(self, progress: Progress, world: World) -> Iterable[Command]:
    """Routes one request to a P worker."""
    if not world.able(self._serving(world, "D"), progress.request):
      if not lost_able(progress, world, "D"):
        return (refused(progress, "D worker's"),)
    if self._ahead:
      self._ahead.expect(progress)
    return routed(
        progress, world, self._serving(world, "P"), "P", self._prefill_router,
        self._recovery,
    )

  def move(self, world: World) -> Iterable[Command]:
    if world.handoffs or self._in_chunks:
      return self._sent(world)
    return ()

  def _sent(self, world: World) -> Iterator[Command]:
    """Hand-offs first: they are the oldest to want room in staging."""
    yield from self._hand_offs(world)
    if self._in_chunks:
      yield from full_pages(world)
    if self._layers:
      yield from layer_by_layer(world, self._layers)

  def prepare(self, world: World) -> Iterable[Command]:
    return self._prepared(self._ahead, world) if self._ahead else ()

  def _prepared(self, ahead: Ahead, world: World) -> Iterator[Command]:
    if any(worker.lost for worker in world.workers):
      for worker in world.with_role("P"):
        yield from self._without_place(worker, world)
    else:
      self._recovery.all_found()
    yield from ahead.reserve(world)

  def _without_place(self, worker: Worker, world: World) -> Iterator[Command]:
    """Those in a P worker's queue for whom no D worker is left."""
    for progress in filter(needs_place, list(worker.waiting)):
      if world.able(self._serving(world, "D"), progress.request):
        self._recovery.found(progress, "D worker")
      else:
        yield from self._recovery.strand(progress, world, "D worker")

  def crowded(self, world: World) -> bool:
    """Whether the decode workers have no room for what comes from P."""
    return bool(world.handoffs or self._ahead and self._ahead.short)

  def _hand_offs(self, world: World) -> Iterator[Command]:
    for progress in list(world.handoffs.values()):
      if progress.target is not None:
        yield from send(progress, world)
      elif self._recovery.may_send(progress, world):
        yield from self._place_anew(progress, world)

  def _place_anew(self, progress: Progress, world: World) -> Iterator[Command]:
    """Hands a request off that has no place yet, if it finds one."""
    target = yield from self._find(progress, world)
    if target is None and self._ahead:
      yield from self._ahead.make_way(world)
      target = yield from self._find(progress, world)
    if target:
      yield Reserve(progress.id, target.id, target.need_pages(progress))
      yield from send(progress, world)

  def _find(
      self, progress: Progress, world: World
  ) -> Generator[Command, None, Worker | None]:
    """The best D worker with room; one may have to wait for there being any."""
    able = world.able(self._serving(world, "D"), progress.request)
    if not able:
      yield from self._recovery.strand(progress, world, "D worker")
      return None
    self._recovery.found(progress, "D worker")
    return self._target(progress, able, world)

  def _target(
      self, progress: Progress, able: list[Worker], world: World
  ) -> Worker | None:
    ranked = self._decode_router.rank(progress, able)
    for worker in self._sent_to(progress, ranked) if self._pushes else ranked:
      if not _before(progress, worker) and world.admits(worker, progress):
        return worker
    return None


  def _sent_to(
      self, progress: Progress, ranked: list[Worker]
  ) -> list[Worker]:
    """The worker that was the best when it was first asked for."""
    chosen = self._chosen.get(progress.id)
    if all(worker.id != chosen for worker in ranked):
      chosen = self._chosen[progress.id] = ranked[0].id
    return [worker for worker in ranked if worker.id == chosen]


def _before(progress: Progress, worker: Worker) -> bool:
  """Whether the head of a worker's queue came before a request."""
  queue = worker.waiting
  return bool(queue) and queue[0].priority < progress.priority


def place_each(
    event: Event,
    world: World,
    recovery: Recovery,
    place_one: Callable[[Progress, World], Iterable[Command]],
) -> Iterable[Command]:
  """Answers what went wrong, then places each request that is to be routed."""
  if not world.unrouted and type(event) not in UNTOWARD:
    return ()
  return _placed_each(event, world, recovery, place_one)


def _placed_each(
    event: Event,
    world: World,
    recovery: Recovery,
    place_one: Callable[[Progress, World], Iterable[Command]],
) -> Iterator[Command]:
  if type(event) in UNTOWARD:
    yield from end_unwanted(event, world)
    yield from recovery.answer(event, world)
  for progress in list(world.unrouted.values()):
    yield from place_one(progress, world)


def end_unwanted(event: Event, world: World) -> Iterable[Command]:
  """Ends what its client cancelled or whose deadline passed.

  A request in a decode run is let go after the step in flight, one in a
  transfer when that is over.
  """
  if type(event) is Cancelled:
    return _end(event.request, Abort(event.request, "cancelled"), world)
  if type(event) is Deadline:
    return _end(event.request, Fail(event.request, "deadline passed"), world)
  return ()


def _end(request: int, command: Command, world: World) -> Iterator[Command]:
  yield command
  progress = world.progress[request]
  if progress.step is not None and progress.worker is not None:
    yield from interrupt(world.workers[progress.worker])


def interrupt(worker: Worker) -> Iterator[Command]:
  """Ends a worker's decode runs early, each once."""
  for lane, run in enumerate(worker.runs):
    if run is not None and run.interruptible:
      yield Interrupt(worker.id, lane)


def routed(
    progress: Progress,
    world: World,
    workers: list[Worker],
    roles: str,
    router: Router,
    recovery: Recovery,
) -> Iterable[Command]:
  """Routes a request to the best of `workers` that could ever hold it.

  They are those of `roles` that take work now; where none could hold it, it
  waits for one that is lost.
  """
  able = world.able(workers, progress.request)
  if not able:
    if lost_able(progress, world, roles):
      return recovery.strand(progress, world, "worker")
    return (refused(progress, "worker's"),)
  recovery.found(progress, "worker")
  return (Route(progress.id, router.rank(progress, able)[0].id),)


def lost_able(progress: Progress, world: World, roles: str) -> list[Worker]:
  """Lost workers of `roles` that could hold a request."""
  lost = [w for w in world.workers if w.lost and w.role in roles]
  return world.able(lost, progress.request)


def refused(progress: Progress, whose: str) -> Reject | Fail:
  """No pool will ever hold a request."""
  refuse = Fail if progress.faults else Reject
  return refuse(progress.id, f"longer than every {whose} pool")


def full_pages(world: World) -> Iterator[Command]:
  """Sends pages of prompts that are not complete; each page once, full."""
  for worker in world.touched_workers():
    for progress in worker.prefilling.values():
      if progress.target is not None and not progress.fate:
        yield from send(progress, world)


def layer_by_layer(world: World, group_layers: int) -> Iterator[Command]:
  """Sends the pages that beginning steps complete, as they are computed."""
  for worker in world.touched_workers():
    begun = [run for run in worker.runs if run and run.id in world.begun]
    for run in begun:
      for progress in run.prompts:
        if progress.target is not None and not progress.fate:
          yield from send(progress, world, group_layers)


def send(
    progress: Progress, world: World, group_layers: int = 0
) -> Iterator[Command]:
  """Moves what is ready and not sent yet, unless a part of it went amiss.

  As much as the staging budget has room for. With `group_layers` what the
  beginning step makes ready: all of it, or it follows when the step is over.
  """
  assert progress.worker is not None and progress.target is not None
  source, first = world.workers[progress.worker], progress.sent_pages
  unsent = source.ready_pages(progress, in_step=group_layers > 0) - first
  pages = source.sendable(unsent)
  if group_layers and pages < unsent:
    return
  if pages > 0 and not progress.spoilt:
    yield Transfer(
        progress.id, source.id, progress.target, (first, first + pages),
        group_layers,
    )
