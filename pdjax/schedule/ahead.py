"""Places on the decode side for prompts that are not computed yet.

Where pages are to move while their prompt is computed, they need a place before
it starts: P admits only who has one. A request that holds pages on P so never
waits for pages on D, and one that waits for pages on P may hold pages on D; the
one exception, a hand-off that has lost its place, goes before all who have not
begun, and takes theirs if it must. So nothing deadlocks.
"""

import heapq
from collections.abc import Callable, Generator, Iterable, Iterator

from pdjax.events import Command, Release, Reserve
from pdjax.request import Progress, State
from pdjax.schedule.worker import Worker
from pdjax.schedule.world import World

Find = Callable[[Progress, World], Generator[Command, None, Worker | None]]


class Ahead:
  """Reserves on D when a request arrives, or when P is about to start it.

  In order of arrival: while one finds no room nobody after it gets any, also
  when its P worker has begun with others meanwhile. So who gets a place depends
  on what has changed, and not on how often that is looked at. One that a fault
  has put back into the queue takes the places of those who came later.

  Args:
    on_arrival: not only when P has room for it and a step to put it in.
    find: the D worker that has room for a request, if any has.
  """

  def __init__(self, on_arrival: bool, find: Find):
    self._on_arrival, self._find = on_arrival, find
    self._arrived: dict[int, Progress] = {}
    self._first: Progress | None = None
    """Who found no room when it was last looked for."""
    self.short = False
    """Whether somebody who could start found no room on D."""

  def expect(self, progress: Progress) -> None:
    """A request was routed to P."""
    if self._on_arrival and needs_place(progress):
      self._arrived[progress.id] = progress

  def reserve(self, world: World) -> Iterator[Command]:
    """Once an event, before P workers are asked what to do."""
    world.places_first, self.short = True, False
    if _anyone_without(world.handoffs):
      self.short = True
      return
    for progress in self._next(world):
      target = yield from self._find(progress, world)
      if target is None and any(_later(progress, world)):
        yield from _released(_later(progress, world))
        target = yield from self._find(progress, world)
      if target is None:
        self._first, self.short = progress, True
        return
      yield Reserve(progress.id, target.id, target.need_pages(progress))

  def make_way(self, world: World) -> Iterator[Command]:
    """Takes the places of those who have not begun."""
    yield from _released(_not_begun(world))

  def _next(self, world: World) -> Iterator[Progress]:
    for progress in sorted(self._known(world), key=lambda p: p.priority):
      if progress.state is State.WAITING and needs_place(progress):
        yield progress
      self._arrived.pop(progress.id, None)
    ready = [w for w in world.with_role("P") if _takes_prompts(w)]
    queues = [_starting(worker, world) for worker in ready]
    in_order = heapq.merge(*queues, key=lambda progress: progress.priority)
    yield from filter(needs_place, in_order)

  def _known(self, world: World) -> list[Progress]:
    """Who is to be asked before those that P could start now.

    The head of a queue among them: faults may have taken its place.
    """
    known = dict(self._arrived)
    if self._first:
      known[self._first.id] = self._first
    if self._on_arrival:
      heads = (w.waiting[0] for w in world.with_role("P") if w.waiting)
      known |= {head.id: head for head in heads}
    self._first = None
    return list(known.values())


def _not_begun(world: World) -> Iterator[tuple[Progress, Worker]]:
  """Who has a place on D and waits on P, and where the place is."""
  for worker in world.with_role("D"):
    for progress in list(worker.inbound.values()):
      if progress.state is State.WAITING:
        yield progress, worker


def _later(
    first: Progress, world: World
) -> Iterator[tuple[Progress, Worker]]:
  """Of these who came after somebody; they may even wait behind it on P."""
  for progress, worker in _not_begun(world):
    if progress.priority > first.priority:
      yield progress, worker


def _released(places: Iterable[tuple[Progress, Worker]]) -> Iterator[Command]:
  for progress, worker in places:
    yield Release(progress.id, worker.id)


def needs_place(progress: Progress) -> bool:
  """Whether it must have one on D before it starts on P."""
  return progress.target is None and progress.remaining_tokens > 1


def _anyone_without(handoffs: dict[int, Progress]) -> bool:
  return any(progress.target is None for progress in handoffs.values())


def _takes_prompts(worker: Worker) -> bool:
  return worker.free_lane is not None and bool(worker.waiting)


def _starting(worker: Worker, world: World) -> Iterator[Progress]:
  """Heads of a free P worker's queue that its next step has room for."""
  spec = worker.spec
  left_tokens = spec.chunk_size or spec.max_num_batched_tokens
  for progress in worker.prefilling.values():
    left_tokens -= progress.remaining_prefill_tokens
  pages = 0
  for place, progress in enumerate(worker.waiting):
    tokens = worker.tokens_to_compute(progress)
    fits = left_tokens > 0 if spec.chunk_size else tokens <= left_tokens
    if place and not fits or worker.num_seqs + place >= spec.max_num_seqs:
      return
    pages += worker.need_pages(progress)
    if left_tokens <= 0 or not world.admission.admits(worker, progress, pages):
      return
    yield progress
    left_tokens -= tokens
