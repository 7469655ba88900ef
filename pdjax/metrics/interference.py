"""What prompts take from running answers: the time decodes lose to prefill.

A decode loses the steps with prompt chunks that its worker takes between two
of its own, and of a step that holds chunks beside it what the step takes
beyond one of decodes alone: the mean such step of the worker in this run, or
where it has none the shortest of its mixed steps. The same figure for both
kinds of batching, so they can be compared.

Units: `_ns` integer nanoseconds.
"""

import numpy as np

from pdjax.metrics.journal import Journal, Runs
from pdjax.metrics.spans import Spans


def interference_ns(journal: Journal) -> np.ndarray:
  """Nanoseconds that each row's decodes lost."""
  members, runs = journal.members, journal.runs
  lost_ns = np.zeros(len(journal.requests), np.int64)
  if not len(runs):
    return lost_ns
  begin_ns, end_ns = runs.started_ps // 1000, runs.ended_ps // 1000
  holds_chunks, holds_decodes = np.zeros((2, len(runs)), bool)
  is_chunk = members.chunk_tokens > 0
  holds_chunks[members.run[is_chunk]] = True
  holds_decodes[members.run[~is_chunk]] = True
  prompts = Spans.of(*(
      each[holds_chunks] for each in (runs.worker, begin_ns, end_ns)
  ))
  before_ns = prompts.until_ns(runs.worker, begin_ns)
  after_ns = prompts.until_ns(runs.worker, end_ns)
  mixed = holds_chunks & holds_decodes
  longer_ns = _longer_ns(runs, end_ns - begin_ns, mixed, ~holds_chunks)
  # A decode after a decode of the same request on the same worker.
  now = np.flatnonzero(~is_chunk)
  follows = now[(now > 0)]
  follows = follows[
      ~is_chunk[follows - 1]
      & (members.row[follows] == members.row[follows - 1])
  ]
  run, last = members.run[follows], members.run[follows - 1]
  stays = runs.worker[run] == runs.worker[last]
  between_ns = np.where(stays, before_ns[run] - after_ns[last], 0)
  np.add.at(lost_ns, members.row[follows], between_ns)
  np.add.at(lost_ns, members.row[now], longer_ns[members.run[now]])
  return lost_ns


def _longer_ns(
    runs: Runs, took_ns: np.ndarray, mixed: np.ndarray, alone: np.ndarray
) -> np.ndarray:
  """What each mixed step takes beyond its worker's steps of decodes alone."""
  longer_ns = np.zeros(len(runs), np.int64)
  for worker in np.unique(runs.worker[mixed]):
    here = mixed & (runs.worker == worker)
    plain = alone & (runs.worker == worker)
    if plain.any():
      usual_ns = took_ns[plain].sum() // runs.steps[plain].sum()
    else:
      usual_ns = took_ns[here].min()
    longer_ns[here] = np.maximum(took_ns[here] - usual_ns, 0)
  return longer_ns
