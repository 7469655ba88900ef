"""Every fault in every state of a request under every recovery rule.

Both backends go through the same cells: two P and two D workers, requests held
up in each state until somebody has seen them there (`lifecycle`), and a plan
whose fault strikes the first that is seen. `words` states what became of it.
"""

import dataclasses

from pdjax.config import Faults
from pdjax.events import (
  UNTIL_INTERRUPTED,
  Cancelled,
  Deadline,
  Displaced,
  Log,
  Restart,
  Route,
  Step,
  TransferEnded,
  WorkerBack,
  WorkerLost,
)
from pdjax.faults import FaultPlan, Harm
from pdjax.request import State
from pdjax.schedule.batching import admit, candidates, make_room
from pdjax.schedule.recovery import Recovery
from pdjax.schedule.world import World
from tests.laws.lifecycle import IN_STATE, Case, policy_for

RULES = ("retry", "recompute", "fail")
ROLES = "PPDD"
CHUNK_TOKENS = 16
HARMS = {
    "transfer dropped": "dropped",
    "transfer delayed": "delayed",
    "transfer slowed": "slowed",
    "transfer corrupted, verified": "corrupted",
    "transfer corrupted, not verified": "corrupted",
}
LOSSES = {
    "worker lost": ("its own", False),
    "worker lost and back": ("its own", True),
    "target lost": ("its target", False),
    "every worker of its role lost": ("its role", False),
    "every worker of its role lost and back": ("its role", True),
}
GIVEN_UP = {"cancelled": Cancelled, "deadline passed": Deadline}
EXHAUSTED = "pools exhausted"
FAULTS = (*HARMS, *LOSSES, EXHAUSTED, *GIVEN_UP)


@dataclasses.dataclass(frozen=True)
class Pace:
  """Of a backend: how long states are made to last, in picoseconds."""

  pause_ps: int
  away_ps: int
  """Of a worker that comes back."""
  wait_s: float
  """For a worker that does not."""
  backoff_s: float


@dataclasses.dataclass(frozen=True)
class Cell:
  fault: str
  state: str
  rule: str

  @property
  def case(self) -> Case:
    case = dataclasses.replace(IN_STATE[self.state], roles="PD")
    if self.state == "prefill between chunks":
      return dataclasses.replace(case, rule=TakingTurns)
    return case

  @property
  def tight(self) -> bool:
    """Needs pools in which not everybody has room."""
    return self.case.tight or self.fault == EXHAUSTED

  @property
  def verify(self) -> bool:
    return self.fault != "transfer corrupted, not verified"

  def policy(self, pace: Pace):
    rule = Faults(
        recovery=self.rule, backoff_s=pace.backoff_s, wait_s=pace.wait_s
    )
    return policy_for(self.case, pace.pause_ps, Recovery(rule))


CELLS = tuple(
    Cell(fault, state, rule)
    for fault in FAULTS for state in IN_STATE for rule in RULES
)


class TakingTurns:
  """A chunk of the prompt of which least is done: the others idle."""

  def batch(self, worker, world):
    decodes = yield from make_room(worker)
    for progress in candidates(worker, world):
      yield from admit(progress, worker)
    prompts = [*worker.prefilling.values()]
    if prompts:
      least = min(prompts, key=lambda p: (p.computed_tokens, p.id))
      tokens = min(CHUNK_TOKENS, least.remaining_prefill_tokens)
      yield Step(worker.id, prefill=((least.id, tokens),))
    elif decodes:
      yield Step(worker.id, decode=decodes, repeats=UNTIL_INTERRUPTED)


class StrikesWhenSeen(FaultPlan):
  """Strikes the first request that is seen in the state of a cell."""

  def __init__(self, cell: Cell, pace: Pace):
    super().__init__(Faults(delay_s=0.01), len(ROLES))
    self._cell, self._away_ps = cell, pace.away_ps
    self._struck: list = []
    self.victim: int | None = None
    self.applies = False
    """Whether there was anything for the fault to hit."""

  def of_transfer(self, request, now_ps):
    kind = HARMS.get(self._cell.fault)
    if self._cell.state == "in transfer" and self.victim is None:
      self.victim = request
    if kind is None or request != self.victim or self.applies:
      return None
    self.applies = True
    if kind == "delayed":
      return Harm(kind, delay_ps=self._away_ps)
    return Harm(kind, factor=10.0 if kind == "slowed" else 1.0)

  def look(self, requests, now_ps):
    for progress in requests.values():
      if progress.ended or not self._cell.case.holds(progress):
        continue
      if self.victim is None or (
          self.victim == progress.id and not self.applies
      ):
        self.victim = progress.id
        self._strike(progress, now_ps)
        return

  def _strike(self, progress, now_ps):
    fault = self._cell.fault
    if fault in LOSSES:
      which, back = LOSSES[fault]
      for worker in _whose(which, progress):
        self._later(WorkerLost(now_ps, worker))
        if back:
          self._later(WorkerBack(now_ps + self._away_ps, worker))
    elif fault in GIVEN_UP:
      self._later(GIVEN_UP[fault](now_ps, progress.id))
    elif fault == EXHAUSTED:
      self.applies = True

  def _later(self, event):
    self.applies = True
    self._struck.append(event)
    self._struck.sort(key=lambda event: event.at_ps)

  @property
  def due_ps(self):
    return self._struck[0].at_ps if self._struck else None

  def losing(self, now_ps):
    due = [event for event in self._struck if event.at_ps <= now_ps]
    return [event.worker for event in due if isinstance(event, WorkerLost)]

  def take(self, requests, now_ps):
    event = self._struck.pop(0)
    if isinstance(event, (Cancelled, Deadline)):
      if requests[event.request].ended:
        return None
    return dataclasses.replace(event, at_ps=now_ps)


def _whose(which, progress):
  own = 0 if progress.worker is None else progress.worker
  if which == "its own":
    return [own]
  if which == "its role":
    return [w for w, role in enumerate(ROLES) if role == ROLES[own]]
  return [] if progress.target is None else [progress.target]


def words(plan: StrikesWhenSeen, log: Log, world: World) -> str:
  """What became of the request that was struck; a dash where none can be."""
  assert plan.victim is not None
  if not plan.applies:
    return "–"
  victim = world.progress[plan.victim]
  if victim.state is not State.FINISHED:
    return victim.state.value
  mine = [e for e in log.of(TransferEnded, Route, Displaced, Restart)
          if e.request == victim.id]
  count = {kind: sum(isinstance(e, kind) for e in mine)
           for kind in (Route, Displaced, Restart)}
  if any(e.fault == "corrupted" and not e.failure
         for e in mine if isinstance(e, TransferEnded)):
    return "finished with damaged pages"
  if count[Displaced] + count[Restart]:
    return "finished, computed again"
  if any(e.failure for e in mine if isinstance(e, TransferEnded)):
    return "finished, sent again"
  if count[Route] > 1:
    return "finished, queued again"
  return "finished"
