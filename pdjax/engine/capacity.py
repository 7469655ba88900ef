"""What a run needs of the engine, checked and counted before any device work.

Knows sizes only and does not import jax, so the command line can say at once
what does not fit.
"""

import dataclasses
from collections.abc import Sequence

from pdjax.config import ConfigError, Pool, Run, pages_for
from pdjax.engine.buckets import Kind, Limits, fewest_programs, ladder
from pdjax.models.spec import ModelSpec
from pdjax.schedule.setup import worker_pools
from pdjax.workload.workload import Workload

DEFAULT_KV_TOKENS = 16_384
"""Tokens of cache a worker has if the config does not say."""

STAGING_RUNGS = 3
"""Sizes of staging arrays between the smallest and the largest transfer."""

LEAST_PASS_TOKENS = 512
"""Prompt tokens a pass may pack, unless a budget or the pool is smaller."""


def pool_pages_of(run: Run) -> list[int]:
  """Usable pages of each worker, without the sentinel; see `world_of`."""
  return [
      (pool.kv_tokens or DEFAULT_KV_TOKENS) // run.cluster.page_tokens
      for pool in worker_pools(run)
  ]


def check(run: Run, spec: ModelSpec, workload: Workload) -> None:
  """Refuses what this engine cannot do.

  Raises:
    ConfigError: a line for each mistake.
  """
  errors = [spec.unrunnable] if spec.unrunnable else []
  errors += _pool_errors(run, spec)
  errors += _length_errors(run, spec, workload)
  errors = errors or _program_errors(run, spec, workload)
  if errors:
    raise ConfigError(list(dict.fromkeys(errors)))


def _program_errors(run: Run, spec: ModelSpec, workload: Workload) -> list[str]:
  needed = max(map(fewest_programs, limits_of(run, spec, workload)))
  if run.engine.max_programs >= needed:
    return []
  return [
      f"engine.max_programs: must be at least {needed} for the steps of this"
      f" run, got {run.engine.max_programs}"
  ]


def _pool_errors(run: Run, spec: ModelSpec) -> list[str]:
  errors = []
  for pool, pages in zip(worker_pools(run), pool_pages_of(run), strict=True):
    if pool.pp > 1:
      errors.append(
          f"cluster.pp: {pool.pp} for role {pool.role}; pipeline parallelism"
          " is simulated only, backend.kind='jax' needs pp=1"
      )
    if pool.tp > 1 and run.cluster.share_devices:
      errors.append(
          f"cluster.share_devices: needs tp=1, role {pool.role} has {pool.tp};"
          " collectives of two workers on the same devices could wait for each"
          " other"
      )
    if mistake := spec.tp_error(pool.tp):
      errors.append(f"cluster.tp: {mistake}")
    if not pages:
      errors.append(
          f"cluster.kv_tokens: {pool.kv_tokens} is less than one page of"
          f" {run.cluster.page_tokens} tokens (cluster.page_tokens)"
      )
  return errors


def _length_errors(run: Run, spec: ModelSpec, workload: Workload) -> list[str]:
  lengths = [r.prompt_tokens + r.max_tokens for r in workload.requests]
  if not lengths:
    return ["workload: it has no request"]
  errors = []
  most = spec.max_position_embeddings
  beyond = sum(length > most for length in lengths)
  if beyond:
    errors.append(
        f"workload: {beyond} of {len(lengths)} requests are longer than the"
        f" {most} positions of {spec.name} (the longest has {max(lengths)}"
        " tokens); cut them with workload.max_prompt_tokens and"
        " workload.max_output_tokens"
    )
  room = largest_request_tokens(run)
  if min(lengths) > room:
    errors.append(
        f"workload: no request fits: the shortest has {min(lengths)} tokens"
        f" with its answer, a worker's KV pool holds {room}; raise"
        " cluster.kv_tokens"
    )
  return errors


def largest_request_tokens(run: Run) -> int:
  """Tokens, with the answer, of the largest request any worker can decode."""
  pools = zip(worker_pools(run), pool_pages_of(run), strict=True)
  pages = [pages for pool, pages in pools if pool.role != "P"]
  return max(pages, default=0) * run.cluster.page_tokens


def end_ids_of(run: Run, end_ids: Sequence[int]) -> tuple[int, ...]:
  """Tokens that end an answer in this run: none where lengths are forced.

  Raises:
    ConfigError: answers should end at a token, but no token does that.
  """
  if run.workload.stop == "forced_length":
    return ()
  if not end_ids:
    raise ConfigError([
        f"workload.stop: 'eos', but model.weights={run.model.weights!r} come"
        " with no end token; use 'forced_length'"
    ])
  return tuple(end_ids)


def limits_of(
    run: Run, spec: ModelSpec, workload: Workload
) -> list[Limits]:
  """The largest pass of each worker, for the requests that fit a pool."""
  room = largest_request_tokens(run)
  lengths = (r.prompt_tokens + r.max_tokens for r in workload.requests)
  fitting = [length for length in lengths if length <= room]
  sources = {pool.tp for pool in worker_pools(run) if pool.role == "P"}
  heads = tuple(sorted({max(tp, spec.num_kv_heads) for tp in sources}))
  pools = zip(worker_pools(run), pool_pages_of(run), strict=True)
  limits = [_limits(run, pool, pages, fitting) for pool, pages in pools]
  staging_M = ladder(max(limit.M for limit in limits), 2, STAGING_RUNGS)
  return [
      dataclasses.replace(limit, staging_M=staging_M, K=heads)
      for limit in limits
  ]


def _limits(
    run: Run, pool: Pool, pool_pages: int, lengths: list[int]
) -> Limits:
  strategy, page_tokens = run.strategy, run.cluster.page_tokens
  longest = min(max(lengths), pool_pages * page_tokens)
  budget = pool.chunk_size or min(
      strategy.max_num_batched_tokens or 8192, max(longest, LEAST_PASS_TOKENS)
  )
  seqs = pool.max_num_seqs or strategy.max_num_seqs
  return Limits(
      B=min(seqs, len(lengths), pool_pages),
      U=budget,
      M=pages_for(longest, page_tokens),
      kinds=kinds_of(run, pool),
  )


def kinds_of(run: Run, pool: Pool) -> tuple[Kind, ...]:
  """The kinds of pass a worker of this role meets under this strategy.

  A user's policy may do anything, so its workers have them all.
  """
  roles = {pool.role for pool in worker_pools(run)}
  kinds: list[Kind] = ["prefill"]
  own = ":" in run.strategy.kind
  if own or pool.role != "P":
    kinds.append("decode")
    shared = run.strategy.priority == "decode_first"
    if own or shared or pool.chunk_size is not None:
      kinds.append("mixed")
  if pool.role == "P":
    kinds.append("gather")
  elif "P" in roles and (own or pool.role == "D"):
    kinds.append("scatter")
  return tuple(kinds)
