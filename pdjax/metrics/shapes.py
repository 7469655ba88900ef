"""What every run of steps computed: chunks, decodes, and their contexts.

The vectorised form of `StepShape`, for all ended runs of a log at once. Nothing
here knows what a step costs.

Units: `_tokens` tokens, `_ps` integer picoseconds.
"""

import dataclasses

import numpy as np

from pdjax.metrics.journal import Journal
from pdjax.metrics.tokens import Lives, read_lives


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Chunks:
  """A prompt chunk each."""

  run: np.ndarray
  tokens: np.ndarray
  context_tokens: np.ndarray
  """Of the same request, cached before."""


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Decodes:
  """A request's part in a run of decode steps, each."""

  run: np.ndarray
  context_tokens: np.ndarray
  """Attended in the first of them, its own token included; one more in each
  step."""


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Shapes:
  """Ended runs, in order of ending."""

  worker: np.ndarray
  steps: np.ndarray
  begin_ps: np.ndarray
  end_ps: np.ndarray
  seqs: np.ndarray
  """Decodes in each step."""
  rows: np.ndarray
  """Requests in each step; each may have its logits made."""
  tokens: np.ndarray
  """That go through the layers in each step."""
  chunks: Chunks
  decodes: Decodes

  def __len__(self) -> int:
    return len(self.steps)

  @property
  def took_ps(self) -> np.ndarray:
    return self.end_ps - self.begin_ps

  @property
  def phase(self) -> np.ndarray:
    """Of each run: `prefill`, `decode`, or `mixed` where it holds both."""
    decodes, chunks = self.seqs > 0, self.rows > self.seqs
    alone = np.where(decodes, "decode", "prefill")
    return np.where(decodes & chunks, "mixed", alone)


def read_shapes(journal: Journal) -> Shapes:
  """The shapes of a log."""
  runs, members = journal.runs, journal.members
  is_chunk = members.chunk_tokens > 0
  cached_tokens = _cached_before(journal, read_lives(journal))
  chunks = Chunks(
      members.run[is_chunk],
      members.chunk_tokens[is_chunk],
      cached_tokens[is_chunk],
  )
  decodes = Decodes(members.run[~is_chunk], cached_tokens[~is_chunk] + 1)
  size = len(runs)
  seqs = np.bincount(decodes.run, minlength=size)
  new_tokens = np.bincount(chunks.run, chunks.tokens, size).astype(np.int64)
  return Shapes(
      worker=runs.worker,
      steps=runs.steps,
      begin_ps=runs.started_ps,
      end_ps=runs.ended_ps,
      seqs=seqs,
      rows=seqs + np.bincount(chunks.run, minlength=size),
      tokens=seqs + new_tokens,
      chunks=chunks,
      decodes=decodes,
  )


def _cached_before(journal: Journal, lives: Lives) -> np.ndarray:
  """Tokens in the cache of each member when its run begins."""
  members, runs = journal.members, journal.runs
  chunk_tokens = members.chunk_tokens
  made = np.where(chunk_tokens > 0, chunk_tokens, runs.steps[members.run])
  before = np.cumsum(made) - made
  life = lives.at(members.row, runs.start_place[members.run])
  first = np.flatnonzero(np.diff(life, prepend=-1))
  each = np.diff(np.append(first, len(life)))
  return before - np.repeat(before[first], each)
