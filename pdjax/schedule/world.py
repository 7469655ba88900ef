"""The world: every request, queue and page, changed by events and commands.

Admission, page accounting and reservation live in the world and nowhere else,
so a simulated and a measured run agree to the page. It shows declared lengths
only; true ones stay in the backend.
"""

import itertools
from collections.abc import Callable, Sequence

from pdjax.events import Log, Transfer
from pdjax.pagenames import PageNames
from pdjax.request import Progress, Request, State
from pdjax.schedule import orders, outcomes
from pdjax.schedule.admission import Admission
from pdjax.schedule.checked import IllegalCommand
from pdjax.schedule.worker import Worker, WorkerSpec

__all__ = ["IllegalCommand", "World"]


class World:
  """All scheduler state. Policies read it; `apply` and `start` write it."""

  apply, start = outcomes.apply, orders.start

  def __init__(self, specs: Sequence[WorkerSpec]):
    self.names = PageNames(specs[0].page_tokens)
    self.workers = [Worker.of(spec, self.names) for spec in specs]
    self.progress: dict[int, Progress] = {}
    self.transfers: dict[int, Transfer] = {}
    """Those in flight, by number."""
    self.unrouted: dict[int, Progress] = {}
    """To be routed: just arrived, displaced, or without a worker for it."""
    self.handoffs: dict[int, Progress] = {}
    """Prefilled on a P worker and waiting for a transfer, oldest first."""
    self.touched: set[int] = set()
    """Workers about which something changed with this event."""
    self.begun: set[int] = set()
    """Runs that began with it: pages may still be told to leave them."""
    self.unfinished = self.now_ps = 0
    self.places_first = False
    """Whether P admits only who has pages reserved for its hand-off; said by a
    placement that sees to it."""
    self.admission = Admission()
    self.doomed: set[int] = set()
    """Given up, but a step or a transfer of theirs is under way."""
    self.next_run = itertools.count().__next__
    self.next_transfer = itertools.count().__next__
    self._with_role: dict[tuple[str, ...], list[Worker]] = {}
    self._least_pool_tokens = min(
        spec.pool_pages * spec.page_tokens for spec in specs
    )

  def attach(self, settle: Callable[[int, int], int], log: Log) -> None:
    """Connects the backend's `settle` and the log that takes the marks."""
    self.admission.attach(settle, log)

  # What policies ask. --------------------------------------------------------

  @property
  def busy(self) -> bool:
    """Whether a step or a transfer is under way."""
    return bool(self.transfers) or any(any(w.runs) for w in self.workers)

  @property
  def up(self) -> list[Worker]:
    """Workers that are not lost."""
    return [worker for worker in self.workers if not worker.lost]

  def with_role(self, *roles: str) -> list[Worker]:
    """Workers of some roles that are not lost."""
    if roles not in self._with_role:
      workers = [w for w in self.workers if w.role in roles and not w.lost]
      self._with_role[roles] = workers
    return [*self._with_role[roles]]

  def touched_workers(self) -> list[Worker]:
    """Those that are not lost."""
    workers = self.workers
    return [workers[i] for i in sorted(self.touched) if not workers[i].lost]

  def able(self, workers: Sequence[Worker], request: Request) -> list[Worker]:
    """Those of `workers` whose empty pool the whole request would fit."""
    if request.prompt_tokens + request.max_tokens <= self._least_pool_tokens:
      return [*workers]
    return [w for w in workers if self.could_hold(w, request)]

  def could_hold(self, worker: Worker, request: Request) -> bool:
    """Whether the whole request would fit the worker's empty pool."""
    return worker.most_pages(request) <= worker.spec.pool_pages

  def admits(
      self, worker: Worker, progress: Progress, pages: int | None = None
  ) -> bool:
    """Whether a request may take its pages on a worker now.

    need + reserve x (holders + 1) <= free, where need is `pages`, or else
    covers its tokens and the first decode; pages of its prefix that others hold
    already are not needed again. Alone it needs no reserve, so the oldest
    always fits. Notes `Blocked` in the log when the answer is no. With
    `places_first` see there.
    """
    if self.places_first and worker.role == "P":
      if progress.target is None and progress.remaining_tokens > 1:
        return False
    return self.admission.admits(worker, progress, pages)

  def has_free(self, worker: Worker, pages: int) -> bool:
    """Whether that many pages are free or can be taken back from runs."""
    return self.admission.has_free(worker, pages)

  def next_admissible(self, worker: Worker) -> Progress | None:
    """The head of a worker's queue if it may be admitted now."""
    if not worker.waiting:
      return None
    head = worker.waiting[0]
    return head if self.admits(worker, head) else None

  # What the loop, `outcomes` and `orders` share. -----------------------------

  def relabel(self, worker: Worker, role: str) -> None:
    worker.role = role
    self._with_role.clear()
    self.touched.add(worker.id)

  def lose(self, worker: Worker, lost: bool) -> None:
    """Nobody may use a worker from now on, or all may again."""
    worker.lost = lost
    self._with_role.clear()
    if not lost:
      self.touched.add(worker.id)

  def give_back(self, progress: Progress, worker: Worker) -> None:
    """Frees a request's pages on a worker."""
    worker.pool.give(progress.pages.pop(worker.id))
    if worker.cache:
      progress.reused_pages.pop(worker.id, None)
    if progress.target == worker.id:
      progress.target, progress.sent_pages, progress.spoilt = None, 0, False
    worker.outstanding_tokens -= progress.target_tokens
    self.touched.add(worker.id)

  def leave(self, progress: Progress, worker: Worker) -> None:
    """Takes a request and its pages off a worker, not to come back."""
    if worker.cache:
      worker.forget(progress)
    self.drop(progress, worker)

  def drop(self, progress: Progress, worker: Worker) -> None:
    """Takes a request and its pages off a worker where it goes on waiting."""
    for group in worker.groups:
      group.pop(progress.id, None)
    self.give_back(progress, worker)

  def close(self, progress: Progress, state: State) -> None:
    """Ends a request as soon as no step and no transfer of it is under way."""
    if progress.fate is None and state is not State.FINISHED:
      self.names.part(progress.request)
    progress.fate = state
    if progress.busy:
      self.doomed.add(progress.id)
      self.handoffs.pop(progress.id, None)
    else:
      self.end(progress, state)

  def end(self, progress: Progress, state: State) -> None:
    """Ends a request and releases whatever it holds, wherever it is."""
    if progress.state is State.WAITING and progress.worker is not None:
      self.workers[progress.worker].dequeue(progress)
      self.workers[progress.worker].forget(progress)
      self.touched.add(progress.worker)
    for index in list(progress.pages):
      self.leave(progress, self.workers[index])
    self.doomed.discard(progress.id)
    self.handoffs.pop(progress.id, None)
    self.unrouted.pop(progress.id, None)
    self.admission.unblock(progress)
    self.names.drop(progress.request)
    progress.state = state
    self.unfinished -= 1
