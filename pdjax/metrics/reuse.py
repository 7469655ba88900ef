"""What requests find in prefix caches, and what conversations repeat.

Units: `_tokens` tokens.
"""

import numpy as np

from pdjax.metrics.journal import Journal

Columns = dict[str, np.ndarray]


def reuse(
    journal: Journal, output_tokens: np.ndarray, reused_tokens: np.ndarray
) -> Columns:
  """Columns by row; docs/metrics.md defines them.

  Args:
    journal: of a run.
    output_tokens: of each answer.
    reused_tokens: found in the cache where a request was admitted first.
  """
  session, rows = journal.requests.session, len(journal.requests)
  row = np.arange(rows)
  opens = (np.diff(session, prepend=-1) != 0) | (session < 0)
  turn = row - np.maximum.accumulate(np.where(opens, row, 0)) + 1
  spared_tokens = np.zeros(rows, np.int64)
  host_tokens = np.bincount(
      journal.hosted.row, journal.hosted.flag, rows
  ).astype(np.int64)
  moves = journal.moves  # Of several hand-offs the last one counts.
  spared_tokens[journal.requests.rows(moves.request)] = moves.spared_tokens
  known_tokens = np.where(opens, 0, np.roll(_said(journal, output_tokens), 1))
  repeated_tokens = np.maximum(known_tokens - reused_tokens, 0)
  return {
      "reused_tokens": reused_tokens,
      "spared_tokens": spared_tokens,
      "host_tokens": host_tokens,
      "repeated_tokens": np.where(_computed(journal), repeated_tokens, 0),
      "session": np.ma.masked_array(session, session < 0),
      "turn": np.ma.masked_array(turn, session < 0),
  }


def _said(journal: Journal, output_tokens: np.ndarray) -> np.ndarray:
  """Tokens of each row that the model has read, as its next turn has them."""
  whole = journal.finished_tokens >= 0
  whole[journal.refusals.row] = False
  # The last token of an answer is made and never read.
  answer_tokens = np.where(whole, output_tokens - 1, 0)
  return journal.requests.prompt_tokens + answer_tokens


def _computed(journal: Journal) -> np.ndarray:
  """Rows of which any prompt token was computed."""
  computed = np.zeros(len(journal.requests), bool)
  members = journal.members
  computed[members.row[members.chunk_tokens > 0]] = True
  return computed
