"""What the scheduler's thread hands to the others, and what they report.

Everything here is a snapshot: pages and tokens as they were when the command
started. Nothing points back into the world, which goes on changing.
"""

import dataclasses
from typing import Any

import numpy as np

from pdjax.config import Sampling
from pdjax.engine.control import RunControl
from pdjax.faults import Harm
from pdjax.hosttier import Move

GREEDY = Sampling()


@dataclasses.dataclass(frozen=True, slots=True)
class DecodeRow:
  """A request that makes one token a step."""

  request: int
  token: int
  """Its last token: the first to be fed."""
  context_tokens: int
  """Tokens in the cache when the run starts."""
  left_tokens: int
  """Tokens to the end of its answer, at least 1."""
  pages: tuple[int, ...]
  """Of its whole context, and of every step the run may have."""
  sampling: Sampling = GREEDY
  """With its own seed."""
  tail: bytes = b""
  """The end of its answer, in which a stop string may have begun."""


@dataclasses.dataclass(frozen=True, slots=True)
class Chunk:
  """Prompt tokens of one request, to be computed in one pass."""

  request: int
  token_U: np.ndarray
  start: int
  """Tokens of the request that are already in the cache."""
  pages: tuple[int, ...]
  left_tokens: int
  """Tokens to the end of its answer; 0 if the prompt is not complete yet."""
  sampling: Sampling = GREEDY
  """With its own seed."""
  tail: bytes = b""
  """The end of its answer so far, as of a decode row."""

  @property
  def end(self) -> int:
    return self.start + len(self.token_U)

  def cut(self, tokens: int) -> tuple["Chunk", "Chunk"]:
    """Its first `tokens` tokens, and the rest."""
    head = dataclasses.replace(
        self, token_U=self.token_U[:tokens], left_tokens=0
    )
    rest = dataclasses.replace(
        self, token_U=self.token_U[tokens:], start=self.start + tokens
    )
    return head, rest


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
  """Some layers of a transfer's pages, which move together."""

  first_layer: int
  first: bool
  """No layers before these."""
  last: bool
  """Nor after."""
  count: int
  """Groups of the transfer."""


@dataclasses.dataclass(frozen=True, slots=True)
class GatherOrder:
  """Copy pages of a transfer out of the pool, for `target`."""

  transfer: int
  pages: tuple[int, ...]
  target: int
  target_pages: tuple[int, ...]
  life: int = 0
  """Of the source."""
  target_life: int = 0
  harm: Harm | None = None
  """What goes wrong with it on purpose."""
  group: Group | None = None
  """None: all layers."""

  def of(self, group: Group) -> "GatherOrder":
    """The part of it that is a group of layers."""
    return dataclasses.replace(self, group=group)


@dataclasses.dataclass(frozen=True, slots=True)
class StepOrder:
  """One step, or a run of decode steps."""

  run: int
  chunks: tuple[Chunk, ...]
  decodes: tuple[DecodeRow, ...]
  control: RunControl
  life: int = 0
  """Of its worker; in a later one it is not done."""
  gathers: tuple[GatherOrder, ...] = ()
  """Pages that leave it layer by layer."""


@dataclasses.dataclass(frozen=True, slots=True)
class ScatterOrder:
  """Write arrived pages into the pool."""

  transfer: int
  staging: Any
  """On this worker's mesh: staging_LM2KCH, or a `Rounded`."""
  checksums: Any
  """Of the pages at the source, or None."""
  pages: tuple[int, ...]
  life: int = 0
  group: Group | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class HostOrder:
  """Move pages between the pool and host memory, before what comes next."""

  moves: tuple[Move, ...]
  life: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Lose:
  """Drop the pool, and do no order until `Return`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Return:
  """Be there again with an empty pool."""


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
  """What one request got from a run: token ids, gaps, whether it is done."""

  request: int
  tokens: list[int]
  gaps: list[float]
  done: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Said:
  """A step's tokens are on the host: (request, token id) each."""

  tokens: tuple[tuple[int, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class RunOver:
  """Step j of the run had its tokens on the host at `ends_ps[j]`."""

  worker: int
  run: int
  started_ps: int
  ends_ps: tuple[int, ...]
  made: tuple[Made, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Undone:
  """A run that its worker was lost before."""

  worker: int
  run: int


@dataclasses.dataclass(frozen=True, slots=True)
class Gone:
  """A worker has dropped its pool."""

  worker: int


@dataclasses.dataclass(frozen=True, slots=True)
class There:
  """A worker has an empty pool again."""

  worker: int


@dataclasses.dataclass(frozen=True, slots=True)
class Passed:
  """A transfer passed a stage: `gathered` or `sent`."""

  transfer: int
  stage: str


@dataclasses.dataclass(frozen=True, slots=True)
class Landed:
  """A transfer is over; `failure` says why if it failed."""

  transfer: int
  failure: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Compiled:
  """A worker made one program ready."""

  worker: int
  program: str


@dataclasses.dataclass(frozen=True, slots=True)
class Ready:
  """A worker finished preparing."""

  worker: int


@dataclasses.dataclass(frozen=True, slots=True)
class Broke:
  """A thread died of an exception."""

  where: str
  error: BaseException


Report = (
    Said | RunOver | Undone | Gone | There | Passed | Landed | Compiled
    | Ready | Broke
)
