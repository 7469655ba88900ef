"""Placements: where a request prefills and where it decodes."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from pdjax.events import (
  Abort,
  Arrived,
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
)
from pdjax.request import Progress
from pdjax.schedule.routing import Router
from pdjax.schedule.worker import Worker
from pdjax.schedule.world import World

TRANSFER_TRIES = 3
"""A request whose transfers all failed, this many in a row, has failed."""


class Placement(Protocol):
  """Moves requests to workers and between them."""

  def place(self, event: Event, world: World) -> Iterable[Command]:
    """Routes what has just arrived."""
    ...

  def move(self, world: World) -> Iterable[Command]:
    """Sends what can be sent from worker to worker; asked twice an event."""
    ...


class Colocated:
  """A request prefills and decodes on the one worker it is routed to."""

  def __init__(self, router: Router):
    self._router = router

  def place(self, event: Event, world: World) -> Iterable[Command]:
    if isinstance(event, Arrived):
      return (route(event, world, world.workers, self._router),)
    return end_unwanted(event, world)

  def move(self, world: World) -> Iterable[Command]:
    return ()


class Disaggregated:
  """A P worker prefills, the pages move, a D worker decodes.

  DistServe (OSDI'24), Splitwise (ISCA'24). The decode worker is chosen when the
  prefill is done. A hand-off that finds no room waits on P and holds its pages
  there; later ones may pass it. A transfer that failed is tried again. A
  request of one token ends on P. A hand-off waits for whoever is in D's queue
  and came before it, so none starves.
  """

  def __init__(
      self,
      prefill_router: Router,
      decode_router: Router,
      serving: Callable[[World, str], list[Worker]] = World.with_role,
  ):
    """`serving` gives the workers of a role that take new work."""
    self._prefill_router = prefill_router
    self._decode_router = decode_router
    self._serving = serving

  def place(self, event: Event, world: World) -> Iterable[Command]:
    if not isinstance(event, Arrived):
      return end_unwanted(event, world)
    request = event.request
    if not world.able(self._serving(world, "D"), request):
      return (Reject(request.id, "longer than every D worker's pool"),)
    workers = self._serving(world, "P")
    return (route(event, world, workers, self._prefill_router),)

  def move(self, world: World) -> Iterable[Command]:
    return self._hand_offs(world) if world.handoffs else ()

  def _hand_offs(self, world: World) -> Iterator[Command]:
    for progress in list(world.handoffs.values()):
      if progress.failed_transfers == TRANSFER_TRIES:
        yield Fail(progress.id, f"{TRANSFER_TRIES} transfers failed")
        continue
      target = self._target(progress, world)
      if target:
        yield from hand_off(progress, target)

  def _target(self, progress: Progress, world: World) -> Worker | None:
    able = world.able(self._serving(world, "D"), progress.request)
    for worker in self._decode_router.rank(progress, able):
      if not _before(progress, worker) and world.admits(worker, progress):
        return worker
    return None


def _before(progress: Progress, worker: Worker) -> bool:
  """Whether the head of a worker's queue came before a request."""
  queue = worker.waiting
  return bool(queue) and queue[0].priority < progress.priority


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


def route(
    event: Arrived, world: World, workers: list[Worker], router: Router
) -> Command:
  """Routes an arrival to the best worker that could ever hold it."""
  progress = world.progress[event.request.id]
  able = world.able(workers, event.request)
  if not able:
    return Reject(progress.id, "longer than every worker's pool")
  return Route(progress.id, router.rank(progress, able)[0].id)


def hand_off(progress: Progress, target: Worker) -> Iterator[Command]:
  """Reserves at the target and sends the pages it does not have yet."""
  assert progress.worker is not None
  yield Reserve(progress.id, target.id, target.need_pages(progress))
  first = progress.reused_pages.get(target.id, 0)
  end = target.pages_for(progress.computed_tokens)
  yield Transfer(progress.id, progress.worker, target.id, (first, end))
