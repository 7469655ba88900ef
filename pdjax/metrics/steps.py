"""What the steps of a run add up to, over all workers.

Units: `_tokens` tokens; a step is one pass, so a run of 30 counts 30.
"""

import dataclasses

import numpy as np

from pdjax.metrics.journal import Journal


@dataclasses.dataclass(frozen=True, slots=True)
class StepTotals:
  """Sums over all ended runs."""

  steps: int
  decode_steps: int
  """Steps with at least one decode."""
  decode_tokens: int
  """Sequences decoded, summed over steps."""
  prefill_steps: int
  prefill_tokens: int


def step_totals(journal: Journal) -> StepTotals:
  members, steps = journal.members, journal.runs.steps
  is_chunk = members.chunk_tokens > 0
  decoding, prefilling = np.zeros((2, len(steps)), bool)
  decoding[members.run[~is_chunk]] = True
  prefilling[members.run[is_chunk]] = True
  return StepTotals(
      steps=int(steps.sum()),
      decode_steps=int(steps[decoding].sum()),
      decode_tokens=int(steps[members.run[~is_chunk]].sum()),
      prefill_steps=int(steps[prefilling].sum()),
      prefill_tokens=int(members.chunk_tokens.sum()),
  )
