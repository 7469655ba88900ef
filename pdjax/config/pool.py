"""Workers alike, and how each splits its model over chips."""

import dataclasses
from typing import Literal

from pdjax.layout import Layout

Role = Literal["P", "D", "C"]
DEGREES = ("tp", "pp", "dp", "ep", "microbatches")
"""Of parallelism within a worker: fields of a pool, and shorthands by role."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pool:
  """Workers alike: `count` replicas of one role, each on chips of its own."""

  role: Role
  """P prefills, D decodes, C does both."""
  count: int
  """Workers in the pool."""
  tp: int = 1
  """Chips a worker splits each layer over (tensor parallel)."""
  pp: int = 1
  """Stages a worker splits the layers into; real devices allow 1 only."""
  dp: int = 1
  """Groups of `tp` chips that share out a worker's sequences, each of which is
  one group's (simulated)."""
  ep: int = 1
  """Parts of a stage's `tp * dp` chips that experts are dealt to; each is cut
  over the chips of its part (simulated)."""
  microbatches: int = 1
  """Parts of a step that pass through the stages one after another, at most as
  many as it has tokens (simulated)."""
  chip: str | None = None
  """None: `cluster.chip`."""
  chunk_size: int | None = None
  """None: `strategy.chunk_size`."""
  max_num_seqs: int | None = None
  """None: `strategy.max_num_seqs`."""
  kv_tokens: int | None = None
  """None: `cluster.kv_tokens`."""

  @property
  def layout(self) -> Layout:
    """How a worker's model lies on its chips."""
    return Layout(
        tp=self.tp, dp=self.dp, ep=self.ep, pp=self.pp,
        microbatches=self.microbatches,
    )
