"""Admission: who may take how many pages, and which runs must give some back.

A decode run holds the pages of all its steps from the start. Before its pool
is read, the run is settled: the backend says which steps are past recall and
holds it there; pages that only later steps need count as free, and taking them
shortens the run. So a run of r steps admits exactly what r single steps would.
"""

import bisect
from collections.abc import Callable, Iterator

from pdjax.events import Blocked, Displaced, Log, Settled, Unblocked
from pdjax.request import Progress
from pdjax.schedule.worker import Run, Worker


def _unattached(worker: int, lane: int) -> int:
  raise RuntimeError(f"no backend attached to settle {worker=} {lane=}")


class Admission:
  """The page arithmetic of all workers; writes its marks to the log."""

  def __init__(self):
    self.now_ps = 0
    self._settle: Callable[[int, int], int] = _unattached
    self._log = Log()
    self.held: list[tuple[int, int, Run]] = []
    self._blocked: dict[int, list[Blocked]] = {}

  def attach(self, settle: Callable[[int, int], int], log: Log) -> None:
    self._settle, self._log = settle, log

  def admits(
      self, worker: Worker, progress: Progress, pages: int | None = None
  ) -> bool:
    """See `World.admits`."""
    if worker.num_seqs >= worker.spec.max_num_seqs:
      return self._block(progress, worker, "seqs")
    if pages is None:
      pages = worker.need_pages(progress)
    if worker.cache:
      pages = worker.new_pages(progress, pages)
    if not self.has_free(worker, pages + worker.margin_pages()):
      return self._block(progress, worker, "pages")
    return True

  def has_free(self, worker: Worker, pages: int) -> bool:
    """Whether that many pages are free or can be taken back from runs."""
    short = pages - worker.pool.free_pages
    return short <= 0 or short <= self._reclaimable(worker)

  def take(self, worker: Worker, pages: int) -> list[int]:
    """Takes pages, shortening runs as little as possible where it must.

    With a prefix cache runs give back all that no step past recall needs: those
    pages would go first.

    Raises:
      ValueError: `has_free` is false.
    """
    if pages > worker.pool.free_pages:
      self._take_back(worker, pages)
    return worker.pool.take(pages)

  def _take_back(self, worker: Worker, pages: int) -> None:
    for lane, run in _long_runs(worker):
      short = pages - worker.pool.free_pages
      if worker.cache:
        worker.shorten(run, self.settled(worker, lane, run))
      elif short > 0:
        settled = self.settled(worker, lane, run)
        worker.shorten(run, _longest_freeing(worker, run, settled, short))

  def settled(self, worker: Worker, lane: int, run: Run) -> int:
    """Steps of a run past recall; asked of the backend once per event."""
    if run.settled is None:
      run.settled = self._settle(worker.id, lane)
      self.held.append((worker.id, lane, run))
      mark = Settled(worker.id, lane, run.id, run.settled)
      self._log.append(self.now_ps, mark)
    return run.settled

  def let_go(self) -> Iterator[tuple[int, int, int]]:
    """Runs held by `settled` since the last call, with their new length."""
    held, self.held = self.held, []
    for worker, lane, run in held:
      run.settled = None
      yield worker, lane, run.repeats

  def unblock(self, progress: Progress) -> None:
    """Notes that a request goes on, if it was blocked."""
    if self._blocked and self._blocked.pop(progress.id, None):
      self._log.append(self.now_ps, Unblocked(progress.id))

  def displaced(self, progress: Progress, worker: Worker) -> None:
    """Notes that a request has lost its pages with its worker."""
    self._log.append(self.now_ps, Displaced(progress.id, worker.id))

  def blocked_on(self, request: int) -> list[Blocked]:
    """What a request has been found to lack since it last went on."""
    return self._blocked.get(request, [])

  def _block(self, progress: Progress, worker: Worker, resource: str) -> bool:
    mark = Blocked(progress.id, worker.id, resource)
    noted = self._blocked.setdefault(progress.id, [])
    if mark not in noted:
      noted.append(mark)
      self._log.append(self.now_ps, mark)
    return False

  def _reclaimable(self, worker: Worker) -> int:
    """Granted pages that no step past recall needs."""
    return sum(
        worker.unreached_pages(run, self.settled(worker, lane, run))
        for lane, run in _long_runs(worker)
    )


def _long_runs(worker: Worker) -> Iterator[tuple[int, Run]]:
  for lane, run in enumerate(worker.runs):
    if run is not None and run.repeats > 1:
      yield lane, run


def _longest_freeing(
    worker: Worker, run: Run, settled: int, pages: int
) -> int:
  """Most steps, at least `settled`, that leave `pages` granted pages over."""
  steps = range(settled, run.repeats + 1)
  enough = bisect.bisect_right(
      steps, -pages, key=lambda step: -worker.unreached_pages(run, step)
  )
  return steps[max(0, enough - 1)]
