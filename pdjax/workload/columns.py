"""The columns of a workload before it becomes requests.

Units: `_ps` integer picoseconds, `_tokens` tokens. Arrays are int64, one entry
a request, in order of arrival.
"""

import dataclasses

import numpy as np

from pdjax.workload.arrivals import PS_PER_S


@dataclasses.dataclass(frozen=True, kw_only=True)
class Columns:
  """When each request arrives, what it brings and what it takes."""

  arrival_ps: np.ndarray
  prompt_tokens: np.ndarray
  output_tokens: np.ndarray
  prefix_ids: tuple[tuple[int, ...], ...] = ()
  """Names of each prompt's blocks; empty when no prompt names any."""
  prefix_block_tokens: int = 0
  cancel_after_ps: np.ndarray | None = None
  """From arrival until the client gives up, 0 if never; None if none does."""
  deadline_after_ps: np.ndarray | None = None
  """From arrival to the deadline, 0 without; None if none has one."""

  def __len__(self) -> int:
    return self.arrival_ps.size

  def part(self, first: int, count: int | None) -> "Columns":
    """`count` requests from `first` on; time starts anew at its first."""
    rows = slice(first, None if count is None else first + count)
    arrival_ps = self.arrival_ps[rows]
    return dataclasses.replace(
        self,
        arrival_ps=arrival_ps - arrival_ps[0],
        prompt_tokens=self.prompt_tokens[rows],
        output_tokens=self.output_tokens[rows],
        prefix_ids=self.prefix_ids[rows],
        cancel_after_ps=_part(self.cancel_after_ps, rows),
        deadline_after_ps=_part(self.deadline_after_ps, rows),
    )

  def before(self, end_ps: int) -> "Columns":
    """The requests that arrive before `end_ps`."""
    return self.part(0, int(np.searchsorted(self.arrival_ps, end_ps)))

  def since(self, start_ps: int) -> "Columns":
    """The requests from `start_ps` on; time starts anew at the first."""
    return self.part(int(np.searchsorted(self.arrival_ps, start_ps)), None)

  def at_rate(self, rate: float) -> "Columns":
    """Gaps scaled so that `rate` requests come in a second on average."""
    gaps_s = float(self.arrival_ps[-1]) / PS_PER_S
    return self.stretched((len(self) - 1) / rate / gaps_s) if gaps_s else self

  def jittered(self, most_ps: int, rng: np.random.Generator) -> "Columns":
    """Each arrival delayed by up to `most_ps`, and sorted again."""
    if not most_ps:
      return self
    late_ps = self.arrival_ps + rng.integers(most_ps, size=len(self))
    order = np.argsort(late_ps, kind="stable")
    return dataclasses.replace(
        self,
        arrival_ps=late_ps[order] - late_ps.min(),
        prompt_tokens=self.prompt_tokens[order],
        output_tokens=self.output_tokens[order],
        prefix_ids=tuple(self.prefix_ids[i] for i in order)
        if self.prefix_ids else (),
    )

  def stretched(self, time_scale: float) -> "Columns":
    """All gaps multiplied by `time_scale`."""
    if time_scale == 1:
      return self
    arrival_ps = np.rint(self.arrival_ps * time_scale).astype(np.int64)
    return dataclasses.replace(self, arrival_ps=arrival_ps)

  def scaled(self, length_scale: float) -> "Columns":
    """All lengths multiplied by `length_scale`, and never below one token.

    Blocks scale too, so that the shared part of a prompt stays the same share
    of it; `prefix_block_tokens * length_scale` must be a whole number.
    """
    if length_scale == 1:
      return self
    return dataclasses.replace(
        self,
        prompt_tokens=_scaled(self.prompt_tokens, length_scale),
        output_tokens=_scaled(self.output_tokens, length_scale),
        prefix_block_tokens=round(self.prefix_block_tokens * length_scale),
    )._within_prompts()

  def cut(self, prompt_tokens: int | None, output_tokens: int | None):
    """Lengths cut to at most these; a prompt keeps its first tokens."""
    return dataclasses.replace(
        self,
        prompt_tokens=np.minimum(self.prompt_tokens, _limit(prompt_tokens)),
        output_tokens=np.minimum(self.output_tokens, _limit(output_tokens)),
    )._within_prompts()

  def _within_prompts(self) -> "Columns":
    """Without the names of blocks that begin after the prompt's end."""
    if not self.prefix_ids:
      return self
    blocks = -(-self.prompt_tokens // self.prefix_block_tokens)
    return dataclasses.replace(
        self,
        prefix_ids=tuple(
            ids[:count]
            for ids, count in zip(
                self.prefix_ids, blocks.tolist(), strict=True
            )
        ),
    )


def _part(column: np.ndarray | None, rows: slice) -> np.ndarray | None:
  return None if column is None else column[rows]


def _scaled(tokens: np.ndarray, scale: float) -> np.ndarray:
  return np.maximum(np.rint(tokens * scale), 1).astype(np.int64)


def _limit(tokens: int | None) -> int:
  return np.iinfo(np.int64).max if tokens is None else tokens
