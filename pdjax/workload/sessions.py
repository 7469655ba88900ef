"""Conversations: how many turns they have, and what each turn's prompt is.

A turn's prompt is the prompt before it, that one's answer, and what it adds.
Units: `_ps` integer picoseconds, `_tokens` tokens.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from pdjax import config
from pdjax.reads import timed
from pdjax.workload import lengths
from pdjax.workload.columns import Columns
from pdjax.workload.streams import Stream, rng_of

Arrivals = Callable[[config.Workload, int], np.ndarray]
"""Times drawn as a workload says: so many, or as many as a window needs."""

_MANY = 10_000


def arriving(
    workload: config.Workload, count: int, arrivals: Arrivals
) -> tuple[np.ndarray, np.ndarray]:
  """Of each request: when its conversation begins, and which one it is.

  `count` requests, the last conversation cut short; or, where a window says how
  many there are, the conversations that begin before its horizon. They begin at
  `workload.rate` divided by the turns of one on average.
  """
  rate = workload.rate and workload.rate / mean_turns(workload)
  begins_ps = arrivals(dataclasses.replace(workload, rate=rate), count)
  turns = _turns(workload, len(begins_ps))
  if not timed(workload):
    turns = np.clip(count - (np.cumsum(turns) - turns), 0, turns)
  session = np.repeat(np.arange(len(turns)), turns)
  return begins_ps[session], session


def mean_turns(workload: config.Workload) -> float:
  """Of a conversation, by many draws: the law's own mean is before its cuts."""
  return float(_turns(workload, _MANY).mean())


def _turns(workload: config.Workload, count: int) -> np.ndarray:
  assert workload.turns is not None
  rng = rng_of(workload, Stream.TURNS)
  return lengths.draw(workload.turns, count, rng).tokens


def continued(workload: config.Workload, columns: Columns) -> Columns:
  """Prompts with all that was said before, where `columns` have what is added.

  Answers have the length at which they end. A conversation ends before the turn
  whose prompt would be longer than `workload.max_prompt_tokens`; a first prompt
  is cut.
  """
  session, most = columns.session, workload.max_prompt_tokens
  assert session is not None
  columns = columns.cut(None, workload.max_output_tokens)
  first = np.diff(session, prepend=-1) != 0
  added = columns.prompt_tokens
  if most is not None:
    added = np.where(first, np.minimum(added, most), added)
  said = columns.output_tokens
  if workload.max_tokens is not None:
    said = np.minimum(said, workload.max_tokens)
  before = np.concatenate([[0], np.cumsum(added + said)])[:-1]
  opening = np.maximum.accumulate(np.where(first, before, 0))
  prompt_tokens = before - opening + added
  columns = dataclasses.replace(columns, prompt_tokens=prompt_tokens)
  if most is None:
    return columns
  return columns.at(np.flatnonzero(prompt_tokens <= most))
