"""Goodput: what was served within its SLO, per second and per chip.

Goodput of requests counts whole requests. It can be gamed by a schedule that
makes a few slow gaps in every request, or gives up on one request to save
another, so goodput of tokens is beside it: every token has its own deadline,
and those in time count. They are a part of the tokens that the throughput of
output tokens counts, so it is never exceeded.

Per chip divides by all chips of the run, never by those of one pool.
Units: `_ns` integer nanoseconds, results per second.
"""

import dataclasses

import numpy as np

from pdjax.config import SLO
from pdjax.metrics.cuts import batches
from pdjax.metrics.requests import RequestTable
from pdjax.metrics.slo import judge, terms_of
from pdjax.metrics.throughput import counted_ns, duration_of


@dataclasses.dataclass(frozen=True, slots=True)
class Goodput:
  """None where the SLO has no request term, or not the ones needed."""

  requests_per_s: float | None
  requests_per_s_per_chip: float | None
  deadline_tokens_per_s: float | None
  deadline_token_share: float | None
  """Tokens in time, of all tokens made, also for requests given up."""


def goodput(table: RequestTable, slo: SLO, chips: int) -> Goodput:
  """Goodput of a run on `chips` chips.

  Args:
    table: all requests, not the measured ones only.
    slo: what is good.
    chips: of all pools.
  """
  seconds = duration_of(table) / 1e9
  good = judge(table.measured(), slo).good
  in_time = deadline_tokens(table, slo)
  rate = _ratio(good, seconds)
  return Goodput(
      requests_per_s=rate,
      requests_per_s_per_chip=_ratio(rate, chips),
      deadline_tokens_per_s=_ratio(in_time, seconds),
      deadline_token_share=_ratio(
          in_time, table.tokens.made_between(*counted_ns(table))
      ),
  )


def _ratio(part: float | None, whole: float) -> float | None:
  return None if part is None or not whole else part / whole


def deadline_tokens(table: RequestTable, slo: SLO) -> int | None:
  """Tokens out by arrival + TTFT limit + index * TPOT limit.

  Index 0 is the first token, released at the table's anchor. None unless the
  SLO bounds both `ttft` and `tpot` per request. Of finished requests, measured
  or not, and under the steady protocol made in the window: the tokens that
  `output_throughput` counts.
  """
  limit_ns = {
      term.metric: term.limit_ns
      for term in terms_of(slo)
      if term.scope == "request"
  }
  if not {"ttft", "tpot"} <= limit_ns.keys():
    return None
  ttft_ns, tpot_ns = limit_ns["ttft"], limit_ns["tpot"]
  return _first_in_time(table, ttft_ns) + _later_in_time(
      table, ttft_ns, tpot_ns
  )


def _first_in_time(table: RequestTable, limit_ns: float) -> int:
  """First tokens in time: released in time, and made when tokens count."""
  begin_ns, end_ns = counted_ns(table)
  made_ns = table["prefill_sampled_ns"]
  counts = (begin_ns <= made_ns) & (made_ns < end_ns)
  in_time = counts & (table["ttft_ns"] <= limit_ns) & table.finished
  return int(np.ma.filled(in_time, False).sum())


def _later_in_time(
    table: RequestTable, ttft_ns: float, tpot_ns: float
) -> int:
  """Tokens after the first that are in time, a batch of them at once."""
  tokens = table.tokens
  later = np.flatnonzero(~tokens.starts_row & table.finished[tokens.row])
  row, count = tokens.row[later], tokens.count[later]
  # Index of a stretch's first token: tokens of the row before it.
  before = (np.cumsum(tokens.count) - tokens.count)[later]
  row_before = np.cumsum(table["output_tokens"]) - table["output_tokens"]
  index = before - row_before[row]
  due_ns = table["arrival_ns"][row] + ttft_ns + tpot_ns * index
  in_time = 0
  for part, _ in batches(count):
    in_time += _in_time(
        tokens.token_ns, tokens.first[later[part]], count[part], due_ns[part],
        tpot_ns, counted_ns(table),
    )
  return in_time


def _in_time(
    token_ns: np.ndarray,
    first: np.ndarray,
    count: np.ndarray,
    due_ns: np.ndarray,
    step_ns: float,
    between_ns: tuple[int, int],
) -> int:
  """Tokens of some stretches that count and are not late."""
  within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
  made_ns = token_ns[np.repeat(first, count) + within]
  counts = (between_ns[0] <= made_ns) & (made_ns < between_ns[1])
  in_time = made_ns <= np.repeat(due_ns, count) + step_ns * within
  return int((counts & in_time).sum())
