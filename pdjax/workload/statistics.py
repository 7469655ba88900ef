"""Statistics of a workload, for the terminal and for readers of results.

Units: `_s` seconds, `_tokens` tokens, shares from 0 to 1.
"""

import itertools
from collections.abc import Iterable

import numpy as np

from pdjax.request import Request
from pdjax.workload.arrivals import PS_PER_S
from pdjax.workload.clients import continues
from pdjax.workload.workload import Workload


def describe(workload: Workload) -> dict:
  """Counts, rate, lengths and prefix reuse; None where undefined.

  `rate_per_s` counts the gaps between the first and the last arrival.
  `prefix_reuse_share` is the share of prompt tokens that a cache without
  limits would hold when their request arrives, every turn before it served.
  """
  requests = workload.requests
  arrivals_ps = [request.arrival_ps for request in requests]
  duration_s = (arrivals_ps[-1] - arrivals_ps[0]) / PS_PER_S
  rate = (len(requests) - 1) / duration_s if duration_s else None
  prompt_tokens = [request.prompt_tokens for request in requests]
  return {
      "num_requests": len(requests),
      "duration_s": duration_s,
      "rate_per_s": rate,
      "prompt_tokens": _spread(prompt_tokens),
      "output_tokens": _spread(workload.output_tokens),
      "prefix_reuse_share": (
          _reused_tokens(requests) + _continued_tokens(workload)
      ) / sum(prompt_tokens),
  }


def _spread(tokens: Iterable[int]) -> dict:
  values = np.array(tuple(tokens))
  p50, p90, p99 = np.percentile(values, (50, 90, 99)).tolist()
  return {
      "total": int(values.sum()),
      "mean": float(values.mean()),
      "p50": p50,
      "p90": p90,
      "p99": p99,
      "max": int(values.max()),
  }


def _reused_tokens(requests: Iterable[Request]) -> int:
  """Tokens in leading full blocks that an earlier request also named.

  Ids are chained, so the leading blocks seen before are one known prefix. A
  partial block is never shared.
  """
  seen: set[int] = set()
  reused = 0
  for request in requests:
    full = request.prompt_tokens // max(1, request.prefix_block_tokens)
    ids = request.prefix_ids[:full]
    known = next((i for i, id in enumerate(ids) if id not in seen), len(ids))
    reused += known * request.prefix_block_tokens
    seen.update(ids)
  return reused


def _continued_tokens(workload: Workload) -> int:
  """Tokens of the prompts and answers before, of turns; the last token of an
  answer is never fed to the model."""
  requests, answers = workload.requests, workload.output_tokens
  return sum(
      last.prompt_tokens + answers[last.id] - 1
      for last, request in itertools.pairwise(requests)
      if continues(last, request)
  )
