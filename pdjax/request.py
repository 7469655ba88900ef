"""What was asked of the system, and what has happened to it since.

`Request` is immutable and holds only what a scheduler may know: never the true
length of the answer. `Progress` is the world's mutable account of one request.

Units: `_ps` integer picoseconds, `_tokens` tokens.
"""

import dataclasses
import enum


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Request:
  """One request as a client declares it.

  `prefix_ids` name the blocks of `prefix_block_tokens` prompt tokens each, the
  last one perhaps partial; equal ids mean equal prefixes.
  """

  id: int
  arrival_ps: int
  """Intended arrival, from the start of the run."""
  prompt_tokens: int
  max_tokens: int
  prefix_ids: tuple[int, ...] = ()
  prefix_block_tokens: int = 0
  deadline_ps: int | None = None
  """When it is given up unless it has finished; declared on arrival."""
  session: int | None = None
  """The conversation it is a turn of. A turn's prompt begins with the prompt
  before it, then that one's answer if it was finished."""

  def __post_init__(self):
    if self.prompt_tokens < 1:
      raise ValueError(f"{self.id=}: {self.prompt_tokens=} must be at least 1")
    if self.max_tokens < 1:
      raise ValueError(f"{self.id=}: {self.max_tokens=} must be at least 1")
    if self.arrival_ps < 0:
      raise ValueError(f"{self.id=}: {self.arrival_ps=} must not be negative")
    if self.deadline_ps is not None and self.deadline_ps <= self.arrival_ps:
      raise ValueError(f"{self.id=}: {self.deadline_ps=} is not after arrival")

  def arriving_at(self, arrival_ps: int) -> "Request":
    """The same asked at another time; its deadline moves along."""
    deadline_ps = self.deadline_ps
    if deadline_ps is not None:
      deadline_ps += arrival_ps - self.arrival_ps
    return dataclasses.replace(
        self, arrival_ps=arrival_ps, deadline_ps=deadline_ps
    )


class State(enum.Enum):
  """Where a request is in its life."""

  ARRIVED = "arrived"
  """Known, not routed to a worker: not yet, or not again."""
  WAITING = "waiting"
  """In a worker's queue; holds no page there."""
  PREFILL = "prefill"
  """Holds pages; part of its prompt is still to be computed."""
  HANDOFF = "handoff"
  """Prefill done on a worker of role P; waits for a decode worker."""
  TRANSFER = "transfer"
  """The last of its pages are moving."""
  DECODE = "decode"
  """Its cache is complete where it is; makes one token a step."""
  FINISHED = "finished"
  REJECTED = "rejected"
  ABORTED = "aborted"
  FAILED = "failed"


ENDED = (State.FINISHED, State.REJECTED, State.ABORTED, State.FAILED)


@dataclasses.dataclass(slots=True, eq=False, repr=False)
class Progress:
  """The world's account of one request. Only the world writes it."""

  request: Request
  state: State = State.ARRIVED
  worker: int | None = None
  """Where it waits, computes or decodes; the source while in transfer."""
  target_tokens: int = dataclasses.field(init=False)
  """Tokens to prefill: the prompt, and after a loss of pages the answer."""
  computed_tokens: int = 0
  """Tokens whose keys and values are in this worker's pages."""
  generated_tokens: int = 0
  preemptions: int = 0
  recomputed_tokens: int = 0
  """Whose pages were taken or lost, and not found in a prefix cache again."""
  lost_tokens: int = 0
  """With the last pages it had; 0 once it is admitted again."""
  reused_tokens: int = 0
  """Tokens found in the cache of its worker when it was last admitted."""
  pages: dict[int, list[int]] = dataclasses.field(default_factory=dict)
  """Physical pages held, by worker."""
  reused_pages: dict[int, int] = dataclasses.field(default_factory=dict)
  """How many of them, from the first, a worker had already; none unsaid."""
  step: int | None = None
  """The run it is part of now, if any."""
  target: int | None = None
  """The worker that keeps pages for it to be handed off to."""
  sent_pages: int = 0
  """Leading pages that its target has, or that are on their way there."""
  flying: set[int] = dataclasses.field(default_factory=set)
  """Transfers of its pages that are under way."""
  spoilt: bool = False
  """One of them failed: what its target has goes back when all are over."""
  failed_transfers: int = 0
  losses: int = 0
  """Times that it lost its pages with a worker."""
  fate: State | None = None
  """How it ends as soon as its step and its transfers are over."""
  id: int = dataclasses.field(init=False)
  priority: tuple[int, int] = dataclasses.field(init=False)
  """First come, first served; the request's id breaks ties."""

  def __post_init__(self):
    self.id = self.request.id
    self.target_tokens = self.request.prompt_tokens
    self.priority = (self.request.arrival_ps, self.id)

  def __repr__(self) -> str:
    return f"Progress({self.id}, {self.state.value})"

  @property
  def remaining_prefill_tokens(self) -> int:
    return self.target_tokens - self.computed_tokens

  @property
  def remaining_tokens(self) -> int:
    """Tokens still to be made if the answer uses all it declared."""
    return self.request.max_tokens - self.generated_tokens

  @property
  def busy(self) -> bool:
    """Whether a step or a transfer of it is under way."""
    return self.step is not None or bool(self.flying)

  @property
  def faults(self) -> int:
    """That have hit it so far."""
    return self.failed_transfers + self.losses

  def forget_pages(self) -> None:
    """Its pages are gone: prompt and answer so far are computed again."""
    self.lost_tokens = self.computed_tokens
    self.recomputed_tokens += self.lost_tokens
    self.computed_tokens = 0
    self.target_tokens = self.request.prompt_tokens + self.generated_tokens

  @property
  def ended(self) -> bool:
    return self.state in ENDED
