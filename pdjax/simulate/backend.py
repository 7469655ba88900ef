"""The simulated backend: a virtual clock, step costs, and shared links.

It does what a cluster would do, in the order of time, and decides nothing. It
alone knows how long answers truly are. Time jumps from event to event; no host
time enters, so the same inputs give the same log, byte for byte.

A transfer is gathered by its source, sent over the link, and scattered by its
target. Both copies run between steps and delay the step that comes next.

Units: `_ps` integer picoseconds from the start of the run, `_bytes` bytes.
"""

import heapq
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pdjax.clients import ClientEvent, Clients
from pdjax.events import (
  EVENTS,
  Abort,
  Command,
  Event,
  Fail,
  Reject,
  Step,
  StepEnded,
  Transfer,
  TransferEnded,
  TransferProgressed,
  Wake,
  Woke,
  delivery_key,
  lane_subject,
)
from pdjax.schedule.cost import StepCost, StepShape
from pdjax.schedule.worker import Run
from pdjax.schedule.world import World
from pdjax.simulate.lane import Lane, LaneRun
from pdjax.simulate.links import Link, Links

_ENDED = EVENTS.index(StepEnded)
_PROGRESSED = EVENTS.index(TransferProgressed)

Key = tuple[int, int, int]
"""Of delivery: (time, kind, subject)."""
_NEVER: Key = (2**100, 0, 0)
"""Later than anything that happens."""
_Pending = tuple[int, int, int, int, "Event | Lane"]
"""A key, a running number, and an event or the lane whose run ends."""


class WorkerCost(StepCost, Protocol):
  """Prices what one worker does."""

  def transfer_bytes(self, tokens: int) -> int: ...

  def gather_ps(self, size_bytes: int) -> int: ...

  def scatter_ps(self, size_bytes: int) -> int: ...


class SimulatedBackend:
  """Works for `serve` on a virtual clock."""

  def __init__(
      self,
      clients: Clients,
      output_tokens: Sequence[int],
      costs: Sequence[WorkerCost],
      links: Sequence[Link],
      *,
      dispatch_ahead: int = 0,
      lane_costs: Sequence[Sequence[StepCost]] | None = None,
  ):
    """`output_tokens` are true answer lengths by request id; `costs` and
    `links` are by worker, `lane_costs` by worker and lane; without them each
    worker has one lane."""
    self._clients = clients
    self._output_tokens = output_tokens
    self._costs = costs
    self._links = Links(dict(enumerate(links)))
    self._ahead = dispatch_ahead
    self._lane_costs = lane_costs or [[cost] for cost in costs]
    self._lanes = [[Lane() for _ in each] for each in self._lane_costs]
    self._transfers: dict[int, tuple[Transfer, int]] = {}
    self._pending: list[_Pending] = []
    self._pushed = 0
    self._due: ClientEvent | None = None
    self._due_key: Key = (-1, 0, 0)
    self._now: Key = (-1, 0, 0)
    """Delivery key of the last event."""

  # What `serve` calls. -------------------------------------------------------

  @property
  def arriving(self) -> bool:
    """Whether clients are still to send requests, as things are now."""
    return self._clients.due() is not None

  def next_event(self) -> Event | None:
    """The earliest of what is pending, on a link, or due from a client."""
    self._drop_outdated()
    key, take = _NEVER, None
    if self._pending:
      key, take = self._pending[0][:3], SimulatedBackend._take_pending
    if self._transfers and (sent := self._links.next_completion()):
      sent_key = (sent[0], _PROGRESSED, sent[1])
      if sent_key < key:
        key, take = sent_key, SimulatedBackend._take_sent
    if (due := self._clients.due()) is not None:
      if due is not self._due:
        self._due, self._due_key = due, delivery_key(due)
      if self._due_key < key:
        key, take = self._due_key, SimulatedBackend._take_due
    if take is None:
      return None
    self._now = key
    return take(self)

  def start(self, command: Command, world: World) -> None:
    begin = _BEGINNINGS.get(type(command))
    if begin is not None:
      begin(self, command, world)

  def settle(self, worker: int, lane: int) -> int:
    run = self._lanes[worker][lane].run
    assert run is not None
    return run.past_recall(self._now[0], self._boundary_passed(worker, lane))

  def resume(self, worker: int, lane: int, repeats: int) -> None:
    run = self._lanes[worker][lane].run
    assert run is not None
    if repeats < run.granted:
      run.grant(repeats)
      self._expect_end(self._lanes[worker][lane])

  # Steps. --------------------------------------------------------------------

  def _start_step(self, command: Step, world: World) -> None:
    lane = self._lanes[command.worker][command.lane]
    started = world.workers[command.worker].runs[command.lane]
    assert started is not None
    lane.run = LaneRun(
        command,
        max(self._now[0], lane.free_ps),
        self._lane_costs[command.worker][command.lane].step(shape_of(started)),
        command.repeats,
        self._left_tokens(started),
        self._ahead,
    )
    self._expect_end(lane)

  def _left_tokens(self, run: Run) -> tuple[tuple[int, int], ...]:
    """Requests for which a pass makes a token: decodes and last chunks."""
    makers = run.decodes
    if run.prompts:
      last_chunks = [
          progress
          for progress, tokens in zip(run.prompts, run.chunks, strict=True)
          if tokens == progress.remaining_prefill_tokens
      ]
      makers = last_chunks + makers
    truth = self._output_tokens
    return tuple([(p.id, truth[p.id] - p.generated_tokens) for p in makers])

  def _expect_end(self, lane: Lane) -> None:
    """Puts the end of a lane's run where it now belongs."""
    run = lane.run
    assert run is not None
    at_ps = run.ends_ps
    if lane.awaited is None or at_ps != lane.awaited_ps:
      lane.awaited, lane.awaited_ps = self._pushed, at_ps
      subject = lane_subject(run.step.worker, run.step.lane)
      self._queue((at_ps, _ENDED, subject), lane)

  def _boundary_passed(self, worker: int, lane: int) -> bool:
    """Whether a step of a lane ending now comes before the current event."""
    ends_now = (self._now[0], _ENDED, lane_subject(worker, lane))
    return ends_now < self._now

  def _wake(self, command: Wake, world: World) -> None:
    self._push(Woke(command.at_ps, command.at_ps))

  def _end(self, command: Reject | Abort | Fail, world: World) -> None:
    """An aborted request's run goes on, but its client has left."""
    self._clients.ended(command.request, self._now[0])

  # Transfers. ----------------------------------------------------------------

  def _start_transfer(self, command: Transfer, world: World) -> None:
    if command.layers is not None:
      raise ValueError(f"{command}: only whole pages can be moved")
    first, last = command.pages
    tokens = (last - first) * world.workers[command.source].spec.page_tokens
    cost = self._costs[command.source]
    size_bytes = cost.transfer_bytes(tokens)
    self._transfers[command.transfer] = (command, size_bytes)
    at_ps = self._copy(command.source, cost.gather_ps(size_bytes))
    self._push(
        TransferProgressed(
            at_ps, command.transfer, command.request, "gathered"
        )
    )

  def _copy(self, worker: int, copy_ps: int) -> int:
    """Charges a copy of pages to every lane; returns when all have done it."""
    over_ps = 0
    for number, lane in enumerate(self._lanes[worker]):
      passed = self._boundary_passed(worker, number)
      over_ps = max(over_ps, lane.copy(self._now[0], passed, copy_ps))
      if lane.run is not None:
        self._expect_end(lane)
    return over_ps

  # Events. -------------------------------------------------------------------

  def _take_pending(self) -> Event:
    *_, what = heapq.heappop(self._pending)
    if isinstance(what, Lane):
      return self._end_run(what)
    if type(what) is TransferProgressed:
      command, size_bytes = self._transfers[what.transfer]
      self._links.start(
          what.transfer, command.source, command.target, size_bytes, what.at_ps
      )
    return what

  def _end_run(self, lane: Lane) -> StepEnded:
    assert lane.run is not None
    event = lane.run.ended()
    lane.clear()
    for request, _ in event.finished:
      self._clients.ended(request, event.at_ps)
    return event

  def _take_sent(self) -> TransferProgressed:
    at_ps, number = self._links.finish()
    command, size_bytes = self._transfers.pop(number)
    copy_ps = self._costs[command.target].scatter_ps(size_bytes)
    over_ps = self._copy(command.target, copy_ps)
    self._push(TransferEnded(over_ps, number, command.request, size_bytes))
    return TransferProgressed(at_ps, number, command.request, "sent")

  def _take_due(self) -> ClientEvent:
    assert self._due is not None
    due, self._due = self._due, None
    self._clients.take()
    return due

  def _push(self, event: Event) -> None:
    self._queue(delivery_key(event), event)

  def _queue(self, key: Key, what: Event | Lane) -> None:
    """The count keeps the heap from comparing events, and names ends."""
    heapq.heappush(self._pending, (*key, self._pushed, what))
    self._pushed += 1

  def _drop_outdated(self) -> None:
    """Takes ends of runs that were cut or delayed since off the heap."""
    pending = self._pending
    while pending:
      _, _, _, number, what = pending[0]
      if type(what) is not Lane or what.awaited == number:
        return
      heapq.heappop(pending)


_BEGINNINGS: dict[type, Callable[[SimulatedBackend, Any, World], None]] = {
    Step: SimulatedBackend._start_step,
    Transfer: SimulatedBackend._start_transfer,
    Wake: SimulatedBackend._wake,
    Reject: SimulatedBackend._end,
    Abort: SimulatedBackend._end,
    Fail: SimulatedBackend._end,
}
"""Commands that mean something to a cluster."""


def shape_of(run: Run) -> StepShape:
  """What a run computes as it starts; a decode attends to its cache and its
  own token."""
  prefill = ()
  if run.prompts:
    prefill = tuple([
        (tokens, progress.computed_tokens)
        for progress, tokens in zip(run.prompts, run.chunks, strict=True)
    ])
  contexts = tuple([context + 1 for context in run.context_tokens])
  return StepShape(
      prefill, len(contexts), sum(contexts), run.repeats, contexts
  )
