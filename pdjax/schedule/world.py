"""The world: every request, queue and page, changed by events and commands.

Admission, page accounting and reservation live here and nowhere else, so a
simulated and a measured run agree to the page. The world shows declared
lengths only; true ones stay in the backend.
"""

import bisect
import dataclasses
from collections.abc import Callable, Iterator, Sequence

from pdjax import events as ev
from pdjax.request import Progress, Request, State
from pdjax.schedule.worker import Run, Worker, WorkerSpec


class IllegalCommand(RuntimeError):
  """A policy asked for something the world does not allow."""


def _unattached(worker: int, lane: int) -> int:
  raise RuntimeError(f"world not attached: nobody settles {worker=} {lane=}")


class World:
  """All scheduler state. Policies read it; `apply` and `start` write it."""

  def __init__(self, specs: Sequence[WorkerSpec]):
    self.workers = [Worker.of(spec) for spec in specs]
    self.progress: dict[int, Progress] = {}
    self.transfers: dict[int, ev.Transfer] = {}
    self.handoffs: dict[int, Progress] = {}
    """Prefilled on a P worker, waiting for a transfer; oldest first."""
    self.touched: set[int] = set()
    """Workers about which something changed with this event."""
    self.unfinished = 0
    self._runs = self._transfer_ids = 0
    self._blocked: dict[int, ev.Blocked] = {}
    self._settle: Callable[[int, int], int] = _unattached
    self._log = ev.Log()
    self._now_ps = 0

  def attach(self, settle: Callable[[int, int], int], log: ev.Log) -> None:
    """Connects the backend's `settle` and the log that takes the marks."""
    self._settle, self._log = settle, log

  # What policies ask. --------------------------------------------------------

  def with_role(self, *roles: str) -> list[Worker]:
    return [worker for worker in self.workers if worker.role in roles]

  def touched_workers(self) -> list[Worker]:
    return [self.workers[index] for index in sorted(self.touched)]

  def could_hold(self, worker: Worker, request: Request) -> bool:
    """Whether the whole request would fit an empty pool."""
    tokens = request.prompt_tokens
    if worker.role != "P":
      tokens += request.max_tokens
    return worker.pages_for(tokens) <= worker.spec.pool_pages

  def admits(self, worker: Worker, progress: Progress) -> bool:
    """Whether a request may take its pages on a worker now.

    need + reserve x (running + inbound + 1) <= free; alone it needs no
    reserve, so the oldest always fits. Notes `Blocked` when not.
    """
    if worker.num_seqs >= worker.spec.max_num_seqs:
      return self._block(progress, worker, "seqs")
    pages = worker.need_pages(progress) + self._margin_pages(worker)
    if not self.has_free(worker, pages):
      return self._block(progress, worker, "pages")
    return True

  def next_admissible(self, worker: Worker) -> Progress | None:
    """The head of a worker's queue if it may be admitted now."""
    if not worker.waiting:
      return None
    head = worker.waiting[0]
    return head if self.admits(worker, head) else None

  def has_free(self, worker: Worker, pages: int) -> bool:
    """Whether that many pages are free or can be taken back from runs."""
    short = pages - worker.pool.free_pages
    return short <= 0 or short <= self._reclaimable(worker)

  def wants_attention(self, worker: Worker) -> bool:
    """Whether a decode run should make way: someone could join it."""
    run = worker.runs[0]
    if run is None or run.repeats == 1 or run.interrupted:
      return False
    if len(worker.decoding) > len(run.decodes):
      return True
    return self.next_admissible(worker) is not None

  def blocked_on(self, request: int) -> str:
    mark = self._blocked.get(request)
    return f", blocked on {mark.resource} of {mark.worker}" if mark else ""

  # Events. -------------------------------------------------------------------

  def apply(self, event: ev.Event) -> None:
    """Changes the world by what has happened.

    Raises:
      ValueError: time ran backwards, or an event nothing is known to do for.
    """
    if event.at_ps < self._now_ps:
      raise ValueError(f"time runs backwards: {event} after {self._now_ps} ps")
    self._now_ps = event.at_ps
    self.touched = set()
    match event:
      case ev.Arrived():
        self._arrive(event.request)
      case ev.StepEnded():
        self._end_step(event)
      case ev.TransferEnded():
        self._end_transfer(event)
      case ev.Woke():
        self.touched = set(range(len(self.workers)))
      case ev.TransferProgressed() | ev.Cancelled() | ev.Deadline():
        pass
      case _:
        raise ValueError(f"no rule for {event}")

  def _arrive(self, request: Request) -> None:
    if request.id in self.progress:
      raise ValueError(f"request {request.id} arrived twice")
    self.progress[request.id] = Progress(
        request, target_tokens=request.prompt_tokens
    )
    self.unfinished += 1

  def _end_step(self, event: ev.StepEnded) -> None:
    worker = self.workers[event.worker]
    run = worker.runs[event.lane]
    if run is None or run.id != event.run or event.steps > run.repeats:
      raise ValueError(f"{event} does not end a run of its lane")
    worker.runs[event.lane] = None
    self.touched.add(worker.id)
    worker.shorten(run, event.steps)
    finished = dict(event.finished)
    for request, tokens in run.step.prefill:
      self._end_chunk(worker, self.progress[request], tokens)
    for decode in run.decodes:
      decode.step = None
      decode.computed_tokens += event.steps
      decode.generated_tokens += finished.get(decode.id, event.steps)
    for request in (*(p for p, _ in run.step.prefill), *run.step.decode):
      self._settle_fate(self.progress[request], request in finished)

  def _end_chunk(self, worker: Worker, progress: Progress, tokens: int) -> None:
    progress.step = None
    progress.computed_tokens += tokens
    if progress.remaining_prefill_tokens:
      return
    progress.generated_tokens += 1
    del worker.prefilling[progress.id]
    if worker.role == "P":
      progress.state = State.HANDOFF
      worker.leaving[progress.id] = progress
      self.handoffs[progress.id] = progress
    else:
      progress.state = State.DECODE
      worker.decoding[progress.id] = progress

  def _settle_fate(self, progress: Progress, finished: bool) -> None:
    if finished:
      self._end(progress, State.FINISHED)
    elif progress.doomed:
      self._end(progress, State.ABORTED)

  def _end_transfer(self, event: ev.TransferEnded) -> None:
    transfer = self.transfers.pop(event.transfer)
    progress = self.progress[transfer.request]
    source, target = (
        self.workers[transfer.source], self.workers[transfer.target],
    )
    self.touched |= {source.id, target.id}
    progress.transfer = None
    del target.inbound[progress.id]
    if event.failure:
      self._give_back(progress, target)
      progress.state = State.HANDOFF
      self.handoffs[progress.id] = progress
    else:
      self._leave(progress, source)
      progress.worker = target.id
      progress.state = State.DECODE
      target.decoding[progress.id] = progress
    self._settle_fate(progress, finished=False)

  # Commands. -----------------------------------------------------------------

  def start(self, command: ev.Command) -> ev.Command:
    """Applies a command and returns it as it was granted.

    Raises:
      IllegalCommand: the world does not allow it; nothing has changed.
    """
    match command:
      case ev.Step():
        return self._step(command)
      case ev.Transfer():
        return self._transfer(command)
      case ev.Route():
        self._route(command)
      case ev.Reserve():
        self._reserve(command)
      case ev.Interrupt():
        self._interrupt(command)
      case ev.Preempt():
        self._preempt(command)
      case ev.Release():
        self._release(command)
      case ev.Reject():
        self._reject(command)
      case ev.Abort():
        self._abort(command)
      case ev.Relabel():
        self.workers[command.worker].role = command.role
        self.touched.add(command.worker)
      case ev.Wake():
        _allow(command.at_ps > self._now_ps, command, "not in the future")
    return command

  def _route(self, command: ev.Route) -> None:
    progress = self._live(command)
    _allow(progress.state is State.ARRIVED, command, "already routed")
    worker = self.workers[command.worker]
    progress.state, progress.worker = State.WAITING, worker.id
    worker.enqueue(progress)
    worker.outstanding_tokens += progress.target_tokens
    self.touched.add(worker.id)

  def _reserve(self, command: ev.Reserve) -> None:
    progress = self._live(command)
    worker = self.workers[command.worker]
    _allow(command.pages > 0, command, "no pages")
    _allow(worker.id not in progress.pages, command, "already holds pages")
    _allow(self.has_free(worker, command.pages), command, "too few free")
    waiting = progress.state is State.WAITING
    waits_here = waiting and progress.worker == worker.id
    if waits_here:
      worker.waiting.remove(progress)
      worker.prefilling[progress.id] = progress
      progress.state, progress.computed_tokens = State.PREFILL, 0
    else:
      worker.inbound[progress.id] = progress
      worker.outstanding_tokens += progress.target_tokens
    self._unblock(progress)
    self._reclaim(worker, command.pages - worker.pool.free_pages)
    progress.pages[worker.id] = worker.pool.take(command.pages)
    self.touched.add(worker.id)

  def _step(self, command: ev.Step) -> ev.Step:
    worker = self.workers[command.worker]
    _allow(worker.runs[command.lane] is None, command, "lane is busy")
    _allow(bool(command.prefill or command.decode), command, "empty")
    decodes = [self._in_group(command, worker.decoding, request)
               for request in command.decode]
    chunks = [(self._in_group(command, worker.prefilling, request), tokens)
              for request, tokens in command.prefill]
    for progress, tokens in chunks:
      fits = 0 < tokens <= progress.remaining_prefill_tokens
      _allow(fits, command, f"{tokens} tokens of request {progress.id}")
    members = {*command.decode, *(request for request, _ in command.prefill)}
    alone = len(members) == len(command.decode) + len(command.prefill)
    _allow(alone, command, "a request twice")
    return self._start_run(worker, command, decodes, [p for p, _ in chunks])

  def _start_run(
      self,
      worker: Worker,
      command: ev.Step,
      decodes: list[Progress],
      prompts: list[Progress],
  ) -> ev.Step:
    asked = 1 if prompts else min(
        command.repeats, *(p.remaining_tokens for p in decodes), 2**31
    )
    _allow(asked > 0, command, "no step asked for")
    repeats = worker.granted_steps(decodes, asked)
    _allow(repeats > 0, command, "pages do not cover one step")
    step = dataclasses.replace(command, repeats=repeats, run=self._runs)
    run = Run(
        self._runs, step, repeats, decodes,
        [p.computed_tokens for p in decodes], [worker.held(p) for p in decodes],
    )
    self._runs += 1
    worker.runs[command.lane] = run
    for progress in decodes:
      missing = worker.missing_pages(progress, repeats)
      progress.pages[worker.id] += worker.pool.take(missing)
    for progress in (*decodes, *prompts):
      progress.step = run.id
    return step

  def _interrupt(self, command: ev.Interrupt) -> None:
    worker = self.workers[command.worker]
    run = worker.runs[command.lane]
    _allow(run is not None, command, "nothing runs")
    assert run is not None
    worker.shorten(run, self._settled(worker, command.lane, run))
    run.interrupted = True

  def _transfer(self, command: ev.Transfer) -> ev.Transfer:
    progress = self._live(command)
    held = progress.pages.get(command.target, ())
    _allow(progress.id in self.handoffs, command, "not waiting for a hand-off")
    _allow(progress.worker == command.source, command, "not its source")
    first, last = command.pages
    needed = self.workers[command.source].pages_for(progress.computed_tokens)
    _allow((first, last) == (0, needed), command, f"pages are [0, {needed})")
    _allow(len(held) >= last, command, "too few pages reserved at the target")
    started = dataclasses.replace(command, transfer=self._transfer_ids)
    self._transfer_ids += 1
    self.transfers[started.transfer] = started
    del self.handoffs[progress.id]
    progress.state, progress.transfer = State.TRANSFER, started.transfer
    return started

  def _preempt(self, command: ev.Preempt) -> None:
    progress = self._live(command)
    idle = progress.state in (State.PREFILL, State.DECODE)
    _allow(idle and progress.step is None, command, "not idle on a worker")
    assert progress.worker is not None
    worker = self.workers[progress.worker]
    self._leave(progress, worker)
    progress.preemptions += 1
    progress.recomputed_tokens += progress.computed_tokens
    progress.computed_tokens = 0
    progress.target_tokens = (
        progress.request.prompt_tokens + progress.generated_tokens
    )
    progress.state = State.WAITING
    worker.enqueue(progress)
    worker.outstanding_tokens += progress.target_tokens

  def _release(self, command: ev.Release) -> None:
    progress = self._live(command)
    worker = self.workers[command.worker]
    _allow(progress.id in worker.inbound, command, "no reservation there")
    _allow(progress.transfer is None, command, "pages are in flight")
    del worker.inbound[progress.id]
    self._give_back(progress, worker)

  def _reject(self, command: ev.Reject) -> None:
    progress = self._live(command)
    _allow(progress.state is State.ARRIVED, command, "already routed")
    self._end(progress, State.REJECTED)

  def _abort(self, command: ev.Abort) -> None:
    progress = self._live(command)
    progress.doomed = command.reason
    if progress.step is None and progress.transfer is None:
      self._end(progress, State.ABORTED)

  # Shared pieces. ------------------------------------------------------------

  def let_go(self) -> Iterator[tuple[int, int, int]]:
    """Runs held by `settle` since the last call, with their new length."""
    for worker in self.workers:
      for lane, run in enumerate(worker.runs):
        if run is not None and run.settled is not None:
          run.settled = None
          yield worker.id, lane, run.repeats

  def _live(self, command: ev.Command) -> Progress:
    progress = self.progress.get(command.request)  # pyright: ignore
    _allow(progress is not None and not progress.ended, command, "no such live")
    assert progress is not None
    return progress

  def _in_group(
      self, command: ev.Command, group: dict[int, Progress], request: int
  ) -> Progress:
    progress = group.get(request)
    free = progress is not None and progress.step is None
    _allow(free, command, f"request {request} is not ready for it there")
    assert progress is not None
    return progress

  def _settled(self, worker: Worker, lane: int, run: Run) -> int:
    if run.settled is None:
      run.settled = self._settle(worker.id, lane)
      self._log.append(
          self._now_ps, ev.Settled(worker.id, lane, run.id, run.settled)
      )
    return run.settled

  def _reclaimable(self, worker: Worker) -> int:
    """Granted pages that no step past recall needs."""
    return sum(
        worker.unreached_pages(run, self._settled(worker, lane, run))
        for lane, run in enumerate(worker.runs)
        if run is not None and run.repeats > 1
    )

  def _reclaim(self, worker: Worker, pages: int) -> None:
    """Shortens runs, each as little as possible, until `pages` are freed."""
    for lane, run in enumerate(worker.runs):
      if pages <= 0 or run is None or run.repeats == 1:
        continue
      settled = self._settled(worker, lane, run)
      cut = bisect.bisect_right(
          range(settled, run.repeats + 1),
          -pages,
          key=lambda steps, run=run: -worker.unreached_pages(run, steps),
      )
      before = worker.pool.free_pages
      worker.shorten(run, max(settled, settled + cut - 1))
      pages -= worker.pool.free_pages - before

  def _margin_pages(self, worker: Worker) -> int:
    """Pages admission leaves free for the requests already there."""
    if not worker.num_seqs or worker.role == "P":
      return 0
    reserve = worker.spec.reserve_pages * (worker.num_seqs + 1)
    return reserve or worker.next_step_pages()

  def _block(self, progress: Progress, worker: Worker, resource: str) -> bool:
    mark = ev.Blocked(progress.id, worker.id, resource)
    if self._blocked.get(progress.id) != mark:
      self._blocked[progress.id] = mark
      self._log.append(self._now_ps, mark)
    return False

  def _unblock(self, progress: Progress) -> None:
    mark = self._blocked.pop(progress.id, None)
    if mark:
      self._log.append(self._now_ps, ev.Unblocked(mark.request, mark.worker))

  def _give_back(self, progress: Progress, worker: Worker) -> None:
    worker.pool.give(progress.pages.pop(worker.id))
    worker.outstanding_tokens -= progress.target_tokens
    self.touched.add(worker.id)

  def _leave(self, progress: Progress, worker: Worker) -> None:
    for group in (worker.prefilling, worker.decoding, worker.leaving):
      group.pop(progress.id, None)
    self._give_back(progress, worker)

  def _end(self, progress: Progress, state: State) -> None:
    """Ends a request and releases whatever it holds, wherever it is."""
    if progress.state is State.WAITING:
      assert progress.worker is not None
      worker = self.workers[progress.worker]
      worker.waiting.remove(progress)
      worker.outstanding_tokens -= progress.target_tokens
      self.touched.add(worker.id)
    for index in list(progress.pages):
      self.workers[index].inbound.pop(progress.id, None)
      self._leave(progress, self.workers[index])
    self.handoffs.pop(progress.id, None)
    self._unblock(progress)
    progress.state = state
    self.unfinished -= 1


def _allow(condition: bool, command: ev.Command, reason: str) -> None:
  if not condition:
    raise IllegalCommand(f"{command}: {reason}")
