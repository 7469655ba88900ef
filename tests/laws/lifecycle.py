"""Every state of a request, made to last until someone has seen it.

Strategies hurry a request through states that a watcher between two events
never sees. `Unhurried` takes each step of its way at a timer's ring; `IN_STATE`
says how to recognise a state, and what brings it about.
"""

import dataclasses
from collections.abc import Callable

from pdjax.clients import Clients
from pdjax.events import (
  Cancelled,
  Deadline,
  Reserve,
  Route,
  Step,
  Transfer,
  Wake,
  Woke,
)
from pdjax.request import Progress, State
from pdjax.schedule.batching import Chunked, Continuous
from pdjax.schedule.placement import end_unwanted
from pdjax.schedule.policies import Composed
from pdjax.schedule.recovery import Recovery
from pdjax.schedule.world import World


class Unhurried:
  """Routes, reserves and sends at a timer each, on workers of some roles."""

  def __init__(
      self, roles: str, pause_ps: int, recovery: Recovery | None = None
  ):
    self._roles, self._pause_ps = roles, pause_ps
    self._recovery = recovery or Recovery()

  def place(self, event, world):
    yield from end_unwanted(event, world)
    yield from self._recovery.answer(event, world)
    if isinstance(event, Woke):
      for progress in list(world.progress.values()):
        yield from self._advance(progress, world)
    if isinstance(event, Woke) or not world.busy:
      states = {progress.state for progress in world.progress.values()}
      if states & {State.ARRIVED, State.HANDOFF}:
        yield Wake(world.now_ps + self._pause_ps)

  def move(self, world):
    return iter(())

  prepare = move

  def _advance(self, progress, world):
    if progress.state not in (State.ARRIVED, State.HANDOFF):
      return
    routed = progress.state is State.HANDOFF
    workers = world.with_role(self._roles[routed])
    if not workers:
      yield from self._recovery.strand(progress, world, "worker")
      return
    self._recovery.found(progress)
    if not routed:
      yield Route(progress.id, _least_loaded(workers).id)
    elif self._recovery.may_send(progress, world):
      target = _least_loaded(workers)
      if progress.target is not None:
        target = world.workers[progress.target]
      if target.id not in progress.pages:
        if world.admits(target, progress):
          yield Reserve(progress.id, target.id, target.need_pages(progress))
      else:
        pages = (0, target.pages_for(progress.computed_tokens))
        source = progress.worker
        yield Transfer(progress.id, source, target.id, pages)


def _least_loaded(workers):
  return min(workers, key=lambda w: (w.outstanding_tokens, w.id))


class TurnAbout(Chunked):
  """A step of chunks, then one of decodes alone: prompts idle in between."""

  def __init__(self):
    self._chunks_last = False

  def batch(self, worker, world):
    if self._chunks_last and worker.decoding:
      self._chunks_last = False
      yield Step(worker.id, decode=tuple(worker.decoding))
      return
    for command in super().batch(worker, world):
      if isinstance(command, Step):
        self._chunks_last = bool(command.prefill)
        if command.prefill:
          command = dataclasses.replace(command, decode=())
      yield command


@dataclasses.dataclass(frozen=True)
class Case:
  """One state: what it looks like, and what makes requests pass through it."""

  holds: Callable[[Progress], bool]
  roles: str = "C"
  rule: Callable = Continuous
  tight: bool = False
  """Needs a pool in which requests are preempted."""


IN_STATE = {
    "not routed": Case(lambda p: p.state is State.ARRIVED),
    "waiting": Case(lambda p: p.state is State.WAITING and not p.preemptions),
    "preempted": Case(
        lambda p: p.state is State.WAITING and p.preemptions > 0, tight=True
    ),
    "prefill in a step": Case(
        lambda p: p.state is State.PREFILL and p.step is not None
    ),
    "prefill between chunks": Case(
        lambda p: p.state is State.PREFILL
        and p.step is None and p.computed_tokens > 0,
        rule=TurnAbout,
    ),
    "decode in a run": Case(
        lambda p: p.state is State.DECODE and p.step is not None
    ),
    "decode left out of a step": Case(
        lambda p: p.state is State.DECODE and p.step is None
    ),
    "waiting for its hand-off": Case(
        lambda p: p.state is State.HANDOFF and len(p.pages) == 1, "PD"
    ),
    "reserved at its target": Case(
        lambda p: p.state is State.HANDOFF and len(p.pages) == 2, "PD"
    ),
    "in transfer": Case(lambda p: p.state is State.TRANSFER, "PD"),
    "decode after its transfer": Case(
        lambda p: p.state is State.DECODE and p.worker != 0, "PD"
    ),
}


def policy_for(
    case: Case, pause_ps: int, recovery: Recovery | None = None
) -> Composed:
  return Composed(Unhurried(case.roles, pause_ps, recovery), case.rule())


class GivesUp:
  """Clients who give up as soon as they are seen in a state; also a watcher.

  Args:
    clients: whose requests they are; the first three seen in the state are
      given up.
    case: the state.
    kind: the event.
  """

  def __init__(
      self, clients: Clients, case: Case, kind: type[Cancelled | Deadline]
  ):
    self._clients, self._case, self._kind = clients, case, kind
    self._due: list[Cancelled | Deadline] = []
    self.told: set[int] = set()

  def due(self):
    return self._due[0] if self._due else self._clients.due()

  def take(self):
    if self._due:
      self._due.pop(0)
    else:
      self._clients.take()

  def ended(self, request, at_ps):
    self._clients.ended(request, at_ps)

  def __call__(self, event, world: World) -> None:
    """Watches after each event."""
    for progress in world.progress.values():
      seen = progress.ended or progress.fate or progress.id in self.told
      if not seen and len(self.told) < 3 and self._case.holds(progress):
        self.told.add(progress.id)
        self._due.append(self._kind(world.now_ps, progress.id))
