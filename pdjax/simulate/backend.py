"""The simulated backend: a virtual clock, step costs, and shared links.

It does what a cluster would do, in the order of time, and decides nothing. It
alone knows how long answers truly are. Time jumps from event to event; no host
time enters, so the same inputs give the same log, byte for byte.

A transfer is gathered by its source, sent over the link, and scattered by its
target. Both copies run between steps and delay the step that comes next. A
worker that is lost keeps the steps that were over; the one under way is lost
with it, and so is a transfer whose bytes are not off it yet, or not all there.

Units: `_ps` integer picoseconds from the start of the run, `_bytes` bytes.
"""

import dataclasses
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
  Reserve,
  Step,
  StepEnded,
  Transfer,
  TransferEnded,
  TransferProgressed,
  Wake,
  Woke,
  WorkerLost,
  delivery_key,
  lane_subject,
)
from pdjax.faults import FaultPlan, Harm
from pdjax.request import Progress
from pdjax.schedule.cost import StepCost, StepShape
from pdjax.schedule.worker import Run
from pdjax.schedule.world import World
from pdjax.simulate.flight import Flight
from pdjax.simulate.lane import Lane, LaneRun
from pdjax.simulate.links import Link, Links
from pdjax.simulate.rates import ps_at
from pdjax.simulate.stages import Leaving, Stages
from pdjax.simulate.timer import Timer

_ENDED = EVENTS.index(StepEnded)
_PROGRESSED = EVENTS.index(TransferProgressed)
_LOST = EVENTS.index(WorkerLost)
_WOKE = EVENTS.index(Woke)

Key = tuple[int, int, int]
"""Of delivery: (time, kind, subject)."""
_NEVER: Key = (2**100, 0, 0)
"""Later than anything that happens."""
_Pending = tuple[int, int, int, int, Lane | Flight | Timer]
"""A key, a running number, and whose it is: outdated unless that awaits it."""


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
      plan: FaultPlan | None = None,
      verify: bool = False,
      sent_token_bytes: Sequence[int | None] | None = None,
      num_layers: int = 1,
      host_bytes_per_s: float = 50e9,
  ):
    """`output_tokens` are true answer lengths by request id; `costs` and
    `links` are by worker, `lane_costs` by worker and lane; without them each
    worker has one lane. `verify` finds damaged pages. `sent_token_bytes` are
    of a cached token on its way from each worker; None: as it is kept. The
    model has `num_layers`. Pages in host memory come back at
    `host_bytes_per_s`."""
    self._clients = clients
    self._truth = output_tokens
    self._costs = costs
    self._links = Links(dict(enumerate(links)))
    self._ahead = dispatch_ahead
    self._lane_costs = lane_costs or [[cost] for cost in costs]
    self._lanes = [
        [Lane(lane_subject(worker, lane)) for lane in range(len(each))]
        for worker, each in enumerate(self._lane_costs)
    ]
    self._plan, self._verify = plan, verify
    self._num_layers = num_layers
    self._host_bytes_per_s = host_bytes_per_s
    self._sent_token_bytes = sent_token_bytes or [None] * len(costs)
    self._world: World | None = None
    """Where faults look for the state that they wait for."""
    self._transfers: dict[int, Flight] = {}
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
    event, pending = None, self._pending
    while event is None:
      key, take = _NEVER, None
      while pending and pending[0][3] != pending[0][4].awaited:
        heapq.heappop(pending)  # cut or delayed since
      if pending:
        key, take = pending[0][:3], SimulatedBackend._take_pending
      if self._transfers and (sent := self._links.next_completion()):
        sent_key = (sent[0], _PROGRESSED, sent[1])
        if sent_key < key:
          key, take = sent_key, SimulatedBackend._take_sent
      if (due := self._clients.due()) is not None:
        if due is not self._due:
          self._due, self._due_key = due, delivery_key(due)
        if self._due_key < key:
          key, take = self._due_key, SimulatedBackend._take_due
      if self._plan is not None and (strike := self._strike_key(self._plan)):
        if strike < key:
          key, take = strike, SimulatedBackend._take_strike
      if take is None:
        return None
      self._now = key
      event = take(self)
    return event

  def start(self, command: Command, world: World) -> None:
    if self._plan is not None:
      self._world = world
    begin = _BEGINNINGS.get(type(command))
    if begin is not None:
      begin(self, command, world)

  def settle(self, worker: int, lane: int) -> int:
    held = self._lanes[worker][lane]
    assert held.run is not None
    return held.run.past_recall(self._now[0], self._boundary_passed(held))

  def resume(self, worker: int, lane: int, repeats: int) -> None:
    held = self._lanes[worker][lane]
    assert held.run is not None
    if repeats < held.run.granted:
      held.run.grant(repeats)
      self._expect_end(held)

  # Steps. --------------------------------------------------------------------

  def _start_step(self, command: Step, world: World) -> None:
    worker, number, truth = command.worker, command.lane, self._truth
    lane = self._lanes[worker][number]
    started = world.workers[worker].runs[number]
    assert started is not None
    makers = started.decodes
    if started.prompts:
      makers = _completed(started) + makers
    lane.run = LaneRun(
        command, max(self._now[0], lane.free_ps),
        self._lane_costs[worker][number].step(shape_of(started)),
        {p.id: truth[p.id] - p.generated_tokens for p in makers}, self._ahead,
    )
    self._expect_end(lane)

  def _expect_end(self, lane: Lane) -> None:
    """Puts the end of a lane's run where it now belongs."""
    run = lane.run
    assert run is not None
    at_ps = run.ends_ps
    if lane.awaited is None or at_ps != lane.awaited_ps:
      lane.awaited_ps = at_ps
      self._queue(at_ps, _ENDED, lane.subject, lane)

  def _boundary_passed(self, lane: Lane) -> bool:
    """Whether a step of a lane ending now comes before the current event."""
    return (self._now[0], _ENDED, lane.subject) < self._now

  def _wake(self, command: Wake, world: World) -> None:
    at_ps = command.at_ps
    self._queue(at_ps, _WOKE, at_ps, Timer(Woke(at_ps, at_ps)))

  def _end(self, command: Reject | Abort | Fail, world: World) -> None:
    """An aborted request's run goes on, but its client has left."""
    self._clients.ended(command.request, self._now[0])

  def _bring_back(self, command: Reserve, world: World) -> None:
    """Pages from host memory are copied between steps, as those handed off."""
    if command.host_tokens:
      size_bytes = self._costs[command.worker].transfer_bytes(
          command.host_tokens
      )
      copy_ps = ps_at(size_bytes, round(self._host_bytes_per_s))
      self._copy(command.worker, copy_ps)

  # Transfers. ----------------------------------------------------------------

  def _start_transfer(self, command: Transfer, world: World) -> None:
    first, last = command.pages
    tokens = (last - first) * world.workers[command.source].spec.page_tokens
    cost = self._costs[command.source]
    size_bytes = kept_bytes = cost.transfer_bytes(tokens)
    sent = self._sent_token_bytes[command.source]
    if sent is not None:
      size_bytes = tokens * sent
    flight = Flight(
        command, size_bytes, (size_bytes + kept_bytes) // 2,
        self._harm_to(command),
    )
    self._transfers[command.transfer] = flight
    if command.group_layers:
      self._leave_step(flight, world)
      return
    at_ps = self._copy(command.source, cost.gather_ps(flight.copied_bytes))
    if flight.harm:
      at_ps += flight.harm.delay_ps
    self._await(flight, TransferProgressed(
        at_ps, command.transfer, command.request, "gathered"
    ))

  def _leave_step(self, flight: Flight, world: World) -> None:
    """Pages leave the step under way layer by layer, which makes it longer."""
    command = flight.command
    number = world.progress[command.request].step
    lanes = self._lanes[command.source]
    lane = next(x for x in lanes if x.run and x.run.step.run == number)
    run = lane.run
    assert run is not None
    leaving = Leaving(
        command.transfer, command.group_layers, self._num_layers
    )
    leaving.gather_ps += [
        self._costs[command.source].gather_ps(
            leaving.bytes_of(group, flight.copied_bytes)
        )
        for group in range(leaving.groups)
    ]
    flight.leaving = leaving
    if run.stages is None:
      run.stages = Stages(run.started_ps, run.boundary_ps(1) - run.started_ps)
    flight.stages = run.stages
    run.stages.leaving.append(leaving)
    run.lengthen(sum(leaving.gather_ps))
    self._expect_end(lane)
    for each in run.stages.leaving:
      self._await_group(self._transfers[each.transfer])

  def _await_group(self, flight: Flight) -> None:
    assert flight.leaving is not None and flight.stages is not None
    delay_ps = flight.harm.delay_ps if flight.harm else 0
    at_ps = flight.stages.gathered_ps(flight.leaving) + delay_ps
    flight.coming = None
    self._queue(at_ps, _PROGRESSED, flight.command.transfer, flight)

  def _harm_to(self, command: Transfer) -> Harm | None:
    if self._plan is None:
      return None
    return self._plan.of_transfer(command.request, self._now[0])

  def _await(
      self, flight: Flight, event: TransferProgressed | TransferEnded
  ) -> None:
    flight.coming = event
    self._queue(*delivery_key(event), flight)

  def _copy(self, worker: int, copy_ps: int) -> int:
    """Charges a copy of pages to every lane; returns when all have done it."""
    over_ps = 0
    for lane in self._lanes[worker]:
      passed = self._boundary_passed(lane)
      over_ps = max(over_ps, lane.copy(self._now[0], passed, copy_ps))
      if lane.run is not None:
        self._expect_end(lane)
    return over_ps

  # Events. -------------------------------------------------------------------

  def _take_pending(self) -> Event | None:
    at_ps, _, _, _, owner = heapq.heappop(self._pending)
    if isinstance(owner, Lane):
      return self._end_run(owner)
    if isinstance(owner, Timer):
      return owner.coming
    if owner.coming is None:
      return self._take_group(owner, at_ps)
    if type(owner.coming) is TransferProgressed:
      self._send(owner, at_ps)
    else:
      del self._transfers[owner.coming.transfer]
    return owner.coming

  def _send(self, flight: Flight, at_ps: int) -> None:
    """Puts a transfer, or the next group of its layers, onto the link."""
    command, leaving = flight.command, flight.leaving
    self._links.start(
        command.transfer, command.source, command.target, flight.link_bytes,
        at_ps, goes_on=leaving is not None and leaving.sent > 0,
    )

  def _take_group(
      self, flight: Flight, at_ps: int
  ) -> TransferProgressed | None:
    """A group is off its source; the scheduler hears of the first."""
    leaving, command = flight.leaving, flight.command
    assert leaving is not None
    leaving.gathered += 1
    if leaving.gathered < leaving.groups:
      self._await_group(flight)
    if leaving.gathered == leaving.sent + 1:
      self._send(flight, at_ps)
    if leaving.gathered > 1:
      return None
    return TransferProgressed(
        at_ps, command.transfer, command.request, "gathered"
    )

  def _end_run(self, lane: Lane, at_ps: int | None = None) -> StepEnded:
    """A run is over; `at_ps`: told later than its last step."""
    event = lane.end()
    if at_ps is not None:
      event = dataclasses.replace(event, at_ps=at_ps)
    for request, _ in event.finished:
      self._clients.ended(request, event.at_ps)
    return event

  def _take_sent(self) -> TransferProgressed | TransferEnded | None:
    at_ps, number = self._links.finish()
    flight = self._transfers[number]
    command, size_bytes = flight.command, flight.size_bytes
    if flight.fault == "dropped":
      del self._transfers[number]
      flight.awaited = -1
      return flight.failed(at_ps, "its bytes never arrived")
    copied_bytes, leaving = flight.copied_bytes, flight.leaving
    if leaving:
      copied_bytes = leaving.bytes_of(leaving.sent, copied_bytes)
      leaving.sent += 1
    copy_ps = self._costs[command.target].scatter_ps(copied_bytes)
    over_ps = self._copy(command.target, copy_ps)
    if leaving and leaving.sent < leaving.groups:
      if leaving.sent < leaving.gathered:
        self._send(flight, at_ps)
      return None
    flight.sent = True
    found = flight.fault == "corrupted" and self._verify
    self._await(flight, TransferEnded(
        over_ps, number, command.request, size_bytes,
        "checksums differ" if found else "", flight.fault,
    ))
    return TransferProgressed(at_ps, number, command.request, "sent")

  # Faults. -------------------------------------------------------------------

  def _strike_key(self, plan: FaultPlan) -> Key | None:
    """When the next fault strikes that is none of a transfer."""
    if self._world is not None:
      plan.look(self._world.progress, self._now[0])
    due_ps = plan.due_ps
    return None if due_ps is None else (max(due_ps, self._now[0]), _LOST, -1)

  def _take_strike(self) -> Event | None:
    """A fault, or first what its worker had done by then; None: no effect."""
    assert self._plan is not None
    now_ps = self._now[0]
    for worker in self._plan.losing(now_ps):
      if over := self._done_before(worker, now_ps):
        return over
    requests = self._world.progress if self._world else {}
    event = self._plan.take(requests, now_ps)
    if isinstance(event, WorkerLost):
      self._lose(event.worker)
    return event

  def _done_before(self, worker: int, now_ps: int) -> StepEnded | None:
    """Ends a run of a worker to be lost whose first steps are over."""
    for lane in self._lanes[worker]:
      if lane.run is not None and (steps := lane.run.finished(now_ps)):
        lane.run.grant(steps)
        return self._end_run(lane, now_ps)
    return None

  def _lose(self, worker: int) -> None:
    """Nothing of a worker is left, and no transfer from or to it."""
    for lane in self._lanes[worker]:
      lane.forget()
    for number, flight in self._transfers.items():
      source, target = flight.command.source, flight.command.target
      if target == worker or (source == worker and not flight.sent):
        self._links.drop(number, self._now[0])
        self._await(flight, flight.failed(
            self._now[0], f"worker {worker} was lost"
        ))

  # Events from clients, and the heap. ----------------------------------------

  def _take_due(self) -> ClientEvent:
    assert self._due is not None
    due, self._due = self._due, None
    self._clients.take()
    return due

  def _queue(
      self, at_ps: int, kind: int, subject: int, owner: Lane | Flight | Timer
  ) -> None:
    """This is what comes next of its owner, whatever was to come before.

    The count keeps the heap from comparing owners, and names what is awaited.
    """
    owner.awaited = number = self._pushed
    heapq.heappush(self._pending, (at_ps, kind, subject, number, owner))
    self._pushed = number + 1


_BEGINNINGS: dict[type, Callable[[SimulatedBackend, Any, World], None]] = {
    Step: SimulatedBackend._start_step,
    Transfer: SimulatedBackend._start_transfer,
    Reserve: SimulatedBackend._bring_back,
    Wake: SimulatedBackend._wake,
    Reject: SimulatedBackend._end,
    Abort: SimulatedBackend._end,
    Fail: SimulatedBackend._end,
}
"""Commands that mean something to a cluster."""


def _completed(run: Run) -> list[Progress]:
  """Prompts whose last chunk is in a run: each gets a token of it."""
  return [
      progress
      for progress, (_, tokens) in zip(
          run.prompts, run.step.prefill, strict=True
      )
      if tokens == progress.target_tokens - progress.computed_tokens
  ]


def shape_of(
    run: Run, begins: bool = False, rested_us: int = 0
) -> StepShape:
  """What a run computes as it starts; a decode attends to its cache and its
  own token. Whether it `begins`, and after what rest, who has seen what was
  before knows."""
  contexts = [decode.computed_tokens + 1 for decode in run.decodes]
  chunks = zip(run.prompts, run.step.prefill, strict=True)
  return StepShape(
      tuple([(chunk[1], prompt.computed_tokens) for prompt, chunk in chunks]),
      len(contexts), sum(contexts), run.repeats, tuple(contexts), begins,
      rested_us,
  )
