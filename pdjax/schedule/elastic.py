"""Elastic disaggregation: workers change sides as the load asks.

Units: `_ps` integer picoseconds, `_tokens` tokens.
"""

from collections.abc import Iterable, Iterator

from pdjax.config import WHOLE_REQUESTS, RoleChange, TransferPlan
from pdjax.events import Command, Event, Relabel, Wake, Woke
from pdjax.schedule.placement import Disaggregated
from pdjax.schedule.recovery import Recovery
from pdjax.schedule.routing import Router
from pdjax.schedule.worker import Worker
from pdjax.schedule.world import World

PS_PER_S = 10**12


class Elastic:
  """`Disaggregated`, with a role that lacks workers given one of the other.

  P lacks workers while more than `queue_tokens` prompt tokens wait or are held
  per P worker and every finished prompt finds room on D; D lacks workers while
  one does not and P's queue is within the limit. When that has lasted for
  `window_s`, and `pause_s` after the last change, the least loaded worker of
  the other role takes no more work, drains, and changes. Such changes with the
  load are what Arrow, DOPD and Splitwise's mixed pool are about; the rule is
  ours.

  A worker changes empty, and only where its role keeps another with as large a
  pool: so no role is emptied, and nobody's hand-off loses its place. One that
  is lost while it drains does not change.
  """

  def __init__(
      self,
      prefill_router: Router,
      decode_router: Router,
      rule: RoleChange,
      plan: TransferPlan = WHOLE_REQUESTS,
      recovery: Recovery | None = None,
  ):
    self._apart = Disaggregated(
        prefill_router, decode_router, plan, self._serving, recovery
    )
    self._queue_tokens = rule.queue_tokens
    self._window_ps = round(rule.window_s * PS_PER_S)
    self._pause_ps = round(rule.pause_s * PS_PER_S)
    self._draining: int | None = None
    self._lacking: str | None = None
    """The role that lacks workers, all the time until `_due_ps` or longer."""
    self._due_ps = 0
    self._rested_ps = 0

  def place(self, event: Event, world: World) -> Iterator[Command]:
    yield from self._apart.place(event, world)
    if isinstance(event, Woke) and self._lacking:
      if self._draining is None and world.now_ps >= self._due_ps:
        self._choose(self._lacking, world)

  def move(self, world: World) -> Iterator[Command]:
    yield from self._apart.move(world)
    if self._draining is not None:
      yield from self._change(world.workers[self._draining], world)
    else:
      yield from self._watch(world)

  def prepare(self, world: World) -> Iterable[Command]:
    return self._apart.prepare(world)

  def _serving(self, world: World, role: str) -> list[Worker]:
    """Workers of a role that take more work."""
    workers = world.with_role(role)
    return [w for w in workers if w.id != self._draining] or workers

  def _watch(self, world: World) -> Iterable[Command]:
    """Notes since when a role lacks workers, and asks to be woken."""
    lacking = self._lack(world)
    if lacking == self._lacking:
      return ()
    self._lacking = lacking
    if not lacking:
      return ()
    self._due_ps = max(world.now_ps + self._window_ps, self._rested_ps)
    return (Wake(self._due_ps),)

  def _lack(self, world: World) -> str | None:
    prefilling = world.with_role("P")
    tokens = sum(worker.outstanding_tokens for worker in prefilling)
    queued = tokens > self._queue_tokens * len(prefilling)
    if queued == self._apart.crowded(world):
      return None
    return "P" if queued else "D"

  def _choose(self, lacking: str, world: World) -> None:
    others = world.with_role("D" if lacking == "P" else "P")
    able = [w for w in others if _has_a_like(w, others)]
    if able:
      worker = min(able, key=lambda w: (w.outstanding_tokens, w.id))
      self._draining, self._lacking = worker.id, None

  def _change(self, worker: Worker, world: World) -> Iterator[Command]:
    others = world.with_role(worker.role)
    if worker.lost or not _has_a_like(worker, others):
      self._draining = None
      return
    if worker.waiting or worker.num_seqs or any(worker.runs):
      return
    self._draining = None
    self._rested_ps = world.now_ps + self._pause_ps
    yield Relabel(worker.id, "D" if worker.role == "P" else "P")


def _has_a_like(worker: Worker, others: list[Worker]) -> bool:
  """Whether another can hold whatever this one can."""
  pages = worker.spec.pool_pages
  return any(o.spec.pool_pages >= pages for o in others if o is not worker)
