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
  session: np.ndarray | None = None
  """The conversation that each is a turn of, one after another; `prompt_tokens`
  are then what a turn adds. None if none is."""

  def __len__(self) -> int:
    return self.arrival_ps.size

  def part(self, first: int, count: int | None) -> "Columns":
    """`count` requests from `first` on; time starts anew at its first."""
    rows = slice(first, None if count is None else first + count)
    return self.at(np.arange(len(self))[rows])._from_its_first()

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
    late = dataclasses.replace(self, arrival_ps=late_ps)
    return late.at(order)._from_its_first()

  def at(self, places: np.ndarray) -> "Columns":
    """The requests at these places, in their order."""
    return dataclasses.replace(
        self,
        arrival_ps=self.arrival_ps[places],
        prompt_tokens=self.prompt_tokens[places],
        output_tokens=self.output_tokens[places],
        prefix_ids=tuple(self.prefix_ids[place] for place in places)
        if self.prefix_ids else (),
        cancel_after_ps=_at(self.cancel_after_ps, places),
        deadline_after_ps=_at(self.deadline_after_ps, places),
        session=_at(self.session, places),
    )

  def _from_its_first(self) -> "Columns":
    """Time starts at the first request."""
    return dataclasses.replace(
        self, arrival_ps=self.arrival_ps - self.arrival_ps[0]
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


def _at(column: np.ndarray | None, places: np.ndarray) -> np.ndarray | None:
  return None if column is None else column[places]


def _scaled(tokens: np.ndarray, scale: float) -> np.ndarray:
  return np.maximum(np.rint(tokens * scale), 1).astype(np.int64)


def _limit(tokens: int | None) -> int:
  return np.iinfo(np.int64).max if tokens is None else tokens
