"""The largest pass that each worker of a run has to be able to make.

What an engine compiles for, and so what its passes are padded to. Knows sizes
only.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from pdjax.buckets import STAGED, Kind, Limits, fewest_programs, ladder
from pdjax.config import (
    WHOLE_PROMPT_TOKENS,
    WHOLE_REQUESTS,
    Pool,
    Run,
    most_seqs,
    pages_for,
)
from pdjax.schedule.setup import worker_pools
from pdjax.schedule.staging import Budgets

STAGING_RUNGS = 3
"""Sizes of staging arrays between the smallest and the largest transfer."""

LEAST_PASS_TOKENS = 512
"""Prompt tokens a pass may pack, unless a budget or the pool is smaller."""


def pass_limits(
    run: Run,
    kv_heads: int,
    lengths: Iterable[int],
    pool_pages: Sequence[int],
    staging_pages: Budgets,
) -> list[Limits]:
  """By worker, for the requests that fit a pool.

  Args:
    kv_heads: of the model.
    lengths: tokens of each request with its answer.
    pool_pages: usable pages of each worker.
    staging_pages: that may be on their way from each: no transfer is larger.
  """
  room = room_tokens(run, pool_pages, "DC")
  fitting = [length for length in lengths if length <= room]
  every = run.strategy.kind == "elastic" or run.cluster.host_kv_tokens
  workers = worker_pools(run)
  sources = {pool.tp for pool in workers if every or pool.role == "P"}
  heads = tuple(sorted({max(tp, kv_heads) for tp in sources}))
  limits = [
      _limits(run, pool, pages, fitting)
      for pool, pages in zip(workers, pool_pages, strict=True)
  ]
  most = max(limit.M for limit in limits)
  staged = max(most if x is None else min(most, x) for x in staging_pages)
  staging_M = ladder(staged, 2, STAGING_RUNGS)
  return [
      dataclasses.replace(limit, staging_M=staging_M, K=heads)
      for limit in limits
  ]


def too_few_programs(max_programs: int, limits: Sequence[Limits]) -> str:
  """A line if passes need more programs than are allowed, else nothing."""
  needed = max(map(fewest_programs, limits))
  if max_programs >= needed:
    return ""
  return (
      f"engine.max_programs: must be at least {needed} for the steps of this"
      f" run, got {max_programs}"
  )


def room_tokens(run: Run, pool_pages: Sequence[int], roles: str) -> int:
  """Tokens that the largest cache of a worker of these roles holds."""
  pools = zip(worker_pools(run), pool_pages, strict=True)
  pages = [pages for pool, pages in pools if pool.role in roles]
  return max(pages, default=0) * run.cluster.page_tokens


def _limits(
    run: Run, pool: Pool, pool_pages: int, lengths: list[int]
) -> Limits:
  strategy, page_tokens = run.strategy, run.cluster.page_tokens
  longest = min(max(lengths, default=1), pool_pages * page_tokens)
  seqs = pool.max_num_seqs or most_seqs(strategy)
  rows = max(1, min(seqs, len(lengths), pool_pages))
  budget = min(
      strategy.max_num_batched_tokens or WHOLE_PROMPT_TOKENS,
      max(longest, LEAST_PASS_TOKENS),
  )
  if pool.chunk_size is not None:
    # No pass is larger than all prompts that a worker holds at a time.
    budget = min(pool.chunk_size, max(rows * longest, LEAST_PASS_TOKENS))
  return Limits(
      B=rows,
      U=budget,
      M=pages_for(longest, page_tokens),
      kinds=kinds_of(run, pool),
  )


def kinds_of(run: Run, pool: Pool) -> tuple[Kind, ...]:
  """The kinds of pass a worker of this role meets under this strategy.

  A user's policy may do anything, so its workers have them all; of an elastic
  split, each may come to do what another does.
  """
  roles = {pool.role for pool in worker_pools(run)}
  elastic, own = run.strategy.kind == "elastic", ":" in run.strategy.kind
  plan = run.strategy.transfer or WHOLE_REQUESTS
  by_layers = plan.granularity == "layers" and "P" in roles
  staged = by_layers and (own or elastic or pool.role == "P")
  kinds: list[Kind] = [*STAGED] if staged else ["prefill"]
  if own or elastic or pool.role != "P":
    kinds.append("decode")
    shared = run.strategy.priority == "decode_first"
    if own or shared or pool.chunk_size is not None:
      kinds.append("mixed")
  if elastic or run.cluster.host_kv_tokens:
    kinds.extend(("gather", "scatter"))
  elif pool.role == "P":
    kinds.append("gather")
  elif "P" in roles and (own or pool.role == "D"):
    kinds.append("scatter")
  return tuple([*kinds, *_layered(kinds)] if by_layers else kinds)


def _layered(kinds: Sequence[Kind]) -> Iterator[Kind]:
  """Copies of some layers, beside those of all."""
  if "gather" in kinds:
    yield "gather_layers"
  if "scatter" in kinds:
    yield "scatter_layers"
