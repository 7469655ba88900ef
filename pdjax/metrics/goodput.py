"""Goodput: what was served within its SLO, per second and per chip.

Goodput of requests counts whole requests. It can be gamed by a schedule that
makes a few slow gaps in every request, or gives up on one request to save
another, so goodput of tokens is beside it: every token has its own deadline,
and those in time count.

Per chip divides by all chips of the run, never by those of one pool.
Units: `_ns` integer nanoseconds, results per second.
"""

import dataclasses

import numpy as np

from pdjax.config import SLO
from pdjax.metrics.requests import RequestTable
from pdjax.metrics.slo import judge, terms_of

_BATCH_TOKENS = 1 << 20
"""Tokens looked at in one go: bounds memory, not the answer."""


@dataclasses.dataclass(frozen=True, slots=True)
class Goodput:
  """None where the SLO has no request term, or not the ones needed."""

  requests_per_s: float | None
  requests_per_s_per_chip: float | None
  deadline_tokens_per_s: float | None
  deadline_token_share: float | None
  """Tokens in time, of all tokens made."""


def goodput(
    table: RequestTable, slo: SLO, duration_ns: int, chips: int
) -> Goodput:
  """Goodput of a run of `duration_ns` on `chips` chips."""
  seconds = duration_ns / 1e9
  good = judge(table, slo).good
  in_time = deadline_tokens(table, slo)
  made = int(table["output_tokens"].sum())
  rate = good / seconds if good is not None and seconds else None
  return Goodput(
      requests_per_s=rate,
      requests_per_s_per_chip=None if rate is None else rate / chips,
      deadline_tokens_per_s=(
          in_time / seconds if in_time is not None and seconds else None
      ),
      deadline_token_share=(
          in_time / made if in_time is not None and made else None
      ),
  )


def deadline_tokens(table: RequestTable, slo: SLO) -> int | None:
  """Tokens out by arrival + TTFT limit + index * TPOT limit.

  Index 0 is the first token, released at the table's anchor. None unless the
  SLO bounds both `ttft` and `tpot` per request. Tokens of requests that did
  not finish count too: they were made.
  """
  limit_ns = {
      term.metric: term.limit_ns
      for term in terms_of(slo)
      if term.scope == "request"
  }
  if not {"ttft", "tpot"} <= limit_ns.keys():
    return None
  first_due = table["ttft_ns"] <= limit_ns["ttft"]
  tokens, in_time = table.tokens, int(np.ma.filled(first_due, False).sum())
  later = np.flatnonzero(~tokens.starts_row)
  row, count = tokens.row[later], tokens.count[later]
  # Index of a stretch's first token: tokens of the row before it.
  before = (np.cumsum(tokens.count) - tokens.count)[later]
  row_before = np.cumsum(table["output_tokens"]) - table["output_tokens"]
  due_ns = table["arrival_ns"][row] + limit_ns["ttft"] + limit_ns["tpot"] * (
      before - row_before[row]
  )
  cuts = np.searchsorted(
      np.cumsum(count), np.arange(0, max(1, count.sum()), _BATCH_TOKENS)
  )
  for begin, end in zip(cuts, [*cuts[1:], len(later)], strict=True):
    part = slice(begin, end)
    in_time += _in_time(
        tokens.token_ns, tokens.first[later[part]], count[part], due_ns[part],
        limit_ns["tpot"],
    )
  return in_time


def _in_time(
    token_ns: np.ndarray,
    first: np.ndarray,
    count: np.ndarray,
    due_ns: np.ndarray,
    step_ns: float,
) -> int:
  """Tokens of some stretches that are not late."""
  within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
  made_ns = token_ns[np.repeat(first, count) + within]
  return int((made_ns <= np.repeat(due_ns, count) + step_ns * within).sum())
