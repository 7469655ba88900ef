"""What the steps of a run add up to, over all workers.

Units: `_tokens` tokens; a step is one pass, so a run of 30 counts 30.
"""

import dataclasses

import numpy as np

from pdjax.metrics.journal import Journal, Runs
from pdjax.window import Window


@dataclasses.dataclass(frozen=True, slots=True)
class StepTotals:
  """Sums over ended runs."""

  steps: int
  decode_steps: int
  """Steps with at least one decode."""
  decode_tokens: int
  """Sequences decoded, summed over steps."""
  prefill_steps: int
  prefill_tokens: int


def step_totals(journal: Journal, window: Window | None = None) -> StepTotals:
  """Of all steps, or of those that ended in a window."""
  members, steps = journal.members, _steps(journal.runs, window)
  is_chunk = members.chunk_tokens > 0
  decoding, prefilling = np.zeros((2, len(steps)), bool)
  decoding[members.run[~is_chunk]] = True
  prefilling[members.run[is_chunk]] = True
  return StepTotals(
      steps=int(steps.sum()),
      decode_steps=int(steps[decoding].sum()),
      decode_tokens=int(steps[members.run[~is_chunk]].sum()),
      prefill_steps=int(steps[prefilling].sum()),
      prefill_tokens=int(members.chunk_tokens[steps[members.run] > 0].sum()),
  )


def _steps(runs: Runs, window: Window | None) -> np.ndarray:
  """Of each run, its steps that ended in the window."""
  if window is None:
    return runs.steps
  before = np.concatenate([[0], np.cumsum(window.holds(runs.token_ps))])
  return before[runs.offset + runs.steps] - before[runs.offset]
