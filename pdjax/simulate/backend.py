"""The simulated backend: a virtual clock, step costs, and shared links.

It does what a cluster would do, in the order of time, and decides nothing. It
alone knows how long answers truly are. Time jumps from event to event; no host
time enters, so the same inputs give the same log, byte for byte.

A transfer is gathered by its source, sent over the link, and scattered by its
target. Both copies run between steps and delay the step that comes next.

Units: `_ps` integer picoseconds from the start of the run, `_bytes` bytes.
"""

import heapq
from collections.abc import Sequence
from typing import Protocol

from pdjax.clients import Clients
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
)
from pdjax.schedule.cost import StepCost, StepShape
from pdjax.schedule.world import World
from pdjax.simulate.lane import Lane, LaneRun
from pdjax.simulate.links import Link, Links


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
      lanes: int = 1,
  ):
    """`output_tokens` are true answer lengths by request id; `costs` and
    `links` are by worker."""
    self._clients = clients
    self._output_tokens = output_tokens
    self._costs = costs
    self._links = Links(dict(enumerate(links)))
    self._ahead = dispatch_ahead
    self._lanes = [[Lane() for _ in range(lanes)] for _ in costs]
    self._transfers: dict[int, tuple[Transfer, int]] = {}
    self._pending: list[tuple[tuple[int, int, int], int, Event]] = []
    self._pushed = 0
    self._now = (-1, 0, 0)
    """Delivery key of the last event."""

  # What `serve` calls. -------------------------------------------------------

  @property
  def arriving(self) -> bool:
    """Whether clients are still to send requests, as things are now."""
    return self._clients.due() is not None

  def next_event(self) -> Event | None:
    self._drop_outdated()
    take, event = self._take_pending, None
    if self._pending:
      event = self._pending[0][2]
    for other, take_other in (
        (self._next_sent(), self._links.finish),
        (self._clients.due(), self._clients.take),
    ):
      if other and (not event or delivery_key(other) < delivery_key(event)):
        event, take = other, take_other
    if event:
      take()
      self._now = delivery_key(event)
      self._happen(event)
    return event

  def _take_pending(self) -> None:
    heapq.heappop(self._pending)

  def start(self, command: Command, world: World) -> None:
    match command:
      case Step():
        self._start_step(command, world)
      case Transfer():
        self._start_transfer(command, world)
      case Wake():
        self._push(Woke(command.at_ps, command.at_ps))
      case Reject() | Abort() | Fail():
        # An aborted request's run goes on, but its client has left.
        self._clients.ended(command.request, self._now[0])
      case _:
        pass  # Nothing else means work.

  def settle(self, worker: int, lane: int) -> int:
    run = self._lanes[worker][lane].run
    assert run is not None
    return run.past_recall(self._now[0], self._boundary_passed(worker))

  def resume(self, worker: int, lane: int, repeats: int) -> None:
    run = self._lanes[worker][lane].run
    assert run is not None
    if repeats < run.granted:
      run.granted = repeats
      self._expect_end(self._lanes[worker][lane])

  # Steps. --------------------------------------------------------------------

  def _start_step(self, command: Step, world: World) -> None:
    lane = self._lanes[command.worker][command.lane]
    segments = self._costs[command.worker].step(shape_of(command, world))
    lane.run = LaneRun(
        step=command,
        started_ps=max(self._now[0], lane.free_ps),
        segments=segments,
        granted=command.repeats,
        left_tokens=self._left_tokens(command, world),
        ahead=self._ahead,
    )
    self._expect_end(lane)

  def _left_tokens(
      self, step: Step, world: World
  ) -> tuple[tuple[int, int], ...]:
    """Requests for which a pass makes a token: decodes and last chunks."""
    last_chunks = (
        request
        for request, tokens in step.prefill
        if tokens == world.progress[request].remaining_prefill_tokens
    )
    return tuple(
        (
            request,
            self._output_tokens[request]
            - world.progress[request].generated_tokens,
        )
        for request in (*last_chunks, *step.decode)
    )

  def _expect_end(self, lane: Lane) -> None:
    """Puts the end of a lane's run where it now belongs."""
    assert lane.run is not None
    ended = lane.run.ended()
    if ended != lane.ended:
      lane.ended = ended
      self._push(ended)

  def _boundary_passed(self, worker: int) -> bool:
    """Whether a step of `worker` ending now comes before the current event."""
    ends_now = (self._now[0], EVENTS.index(StepEnded), worker)
    return ends_now < self._now

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

  def _next_sent(self) -> TransferProgressed | None:
    completion = self._links.next_completion()
    if completion is None:
      return None
    at_ps, number = completion
    command, _ = self._transfers[number]
    return TransferProgressed(at_ps, number, command.request, "sent")

  def _copy(self, worker: int, copy_ps: int) -> int:
    """Charges a copy of pages to every lane; returns when all have done it."""
    passed = self._boundary_passed(worker)
    over_ps = 0
    for lane in self._lanes[worker]:
      over_ps = max(over_ps, lane.copy(self._now[0], passed, copy_ps))
      if lane.run is not None:
        self._expect_end(lane)
    return over_ps

  # Events. -------------------------------------------------------------------

  def _happen(self, event: Event) -> None:
    """What an event sets off by itself, before the scheduler hears of it."""
    match event:
      case StepEnded():
        self._lanes[event.worker][event.lane].clear()
        for request, _ in event.finished:
          self._clients.ended(request, event.at_ps)
      case TransferProgressed(stage="gathered"):
        command, size_bytes = self._transfers[event.transfer]
        self._links.start(
            event.transfer, command.source, command.target, size_bytes,
            event.at_ps,
        )
      case TransferProgressed():
        self._scatter(*self._transfers.pop(event.transfer))
      case _:
        pass

  def _scatter(self, command: Transfer, size_bytes: int) -> None:
    copy_ps = self._costs[command.target].scatter_ps(size_bytes)
    at_ps = self._copy(command.target, copy_ps)
    self._push(
        TransferEnded(at_ps, command.transfer, command.request, size_bytes)
    )

  def _push(self, event: Event) -> None:
    """Queues an event; the count only keeps the heap from comparing events."""
    self._pushed += 1
    heapq.heappush(
        self._pending, (delivery_key(event), self._pushed, event)
    )

  def _drop_outdated(self) -> None:
    """Takes ends of runs that were cut or delayed since off the heap."""
    while self._pending:
      event = self._pending[0][2]
      if not isinstance(event, StepEnded):
        return
      if event is self._lanes[event.worker][event.lane].ended:
        return
      heapq.heappop(self._pending)


def shape_of(step: Step, world: World) -> StepShape:
  """What a step computes; a decode attends to its cache and its own token."""
  progress = world.progress
  contexts = tuple(progress[r].computed_tokens + 1 for r in step.decode)
  return StepShape(
      prefill=tuple(
          (tokens, progress[request].computed_tokens)
          for request, tokens in step.prefill
      ),
      decode_seqs=len(step.decode),
      decode_context_tokens=sum(contexts),
      repeats=step.repeats,
      decode_contexts=contexts,
  )
