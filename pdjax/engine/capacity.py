"""What a run needs of the engine, checked and counted before any device work.

Knows sizes only and does not import jax, so the command line can say at once
what does not fit.
"""

from collections.abc import Iterator, Sequence

from pdjax import memory
from pdjax.buckets import Limits
from pdjax.config import (
  WHOLE_REQUESTS,
  ConfigError,
  Run,
  place_of,
  pools_of,
)
from pdjax.dtypes import Dtypes
from pdjax.models.sizes import spec_of
from pdjax.models.spec import ModelSpec
from pdjax.passlimits import pass_limits, room_tokens, too_few_programs
from pdjax.schedule.setup import worker_pools
from pdjax.schedule.staging import Budgets, staging_pages, too_small
from pdjax.workload.workload import Workload

DEFAULT_KV_TOKENS = 16_384
"""Tokens of cache a worker has if the config does not say."""


def pool_pages_of(run: Run) -> list[int]:
  """Usable pages of each worker, without the sentinel; see `world_of`."""
  return [
      (pool.kv_tokens or DEFAULT_KV_TOKENS) // run.cluster.page_tokens
      for pool in worker_pools(run)
  ]


def staging_pages_of(run: Run) -> Budgets:
  """Most pages on their way from each worker; see `world_of`."""
  return staging_pages(run, sent_page_bytes(run, spec_of(run.model)))


def too_little_staging(run: Run, spec: ModelSpec) -> Iterator[str]:
  """A line if not a page fits the staging budget of one that sends."""
  return too_small(run, sent_page_bytes(run, spec))


def sent_page_bytes(run: Run, spec: ModelSpec) -> list[int]:
  """Of a page on its way from each worker, copies of heads included."""
  plan = run.strategy.transfer or WHOLE_REQUESTS
  if plan.payload == "int8":
    token_bytes = spec.kv_int8_bytes_per_token
  else:
    token_bytes = spec.kv_bytes_per_token(Dtypes.all(run.model.dtype).kv_bytes)
  page_bytes = run.cluster.page_tokens * token_bytes
  return [
      page_bytes * memory.kv_copies(spec, pool.tp) for pool in worker_pools(run)
  ]


def check(run: Run, spec: ModelSpec, workload: Workload) -> None:
  """Refuses what this engine cannot do.

  Raises:
    ConfigError: a line for each mistake.
  """
  errors = [
      *unrunnable(spec),
      *pipelines(run),
      *uneven_groups(run, spec),
      *shared_devices(run),
      *unfit_heads(run, spec),
      *empty_pools(run),
      *too_little_staging(run, spec),
      *beyond_positions(spec, workload),
      *none_fits(run, workload, pool_pages_of(run)),
      *unknown_stop_ids(run, spec),
  ]
  if not errors:
    limits = limits_of(run, spec, workload)
    errors = [too_few_programs(run.engine.max_programs, limits)]
  if any(errors):
    raise ConfigError(list(dict.fromkeys(errors)))


def unrunnable(spec: ModelSpec) -> Iterator[str]:
  """A line if the engine's transformer does not implement the model."""
  if spec.unrunnable:
    yield f"model.preset: {spec.unrunnable}"


def pipelines(run: Run) -> Iterator[str]:
  """A line for each pool that asks for stages."""
  for index, pool in enumerate(pools_of(run)):
    if pool.pp > 1:
      yield (
          f"{place_of(run, index, 'pp')}: {pool.pp} for role {pool.role};"
          " pipeline parallelism is simulated only, backend.kind='jax' needs"
          " pp=1"
      )


def uneven_groups(run: Run, spec: ModelSpec) -> Iterator[str]:
  """A line if the model's layers cannot move in groups of that size."""
  group = (run.strategy.transfer or WHOLE_REQUESTS).group_layers
  if group and spec.num_layers % group:
    yield (
        f"strategy.transfer.layers: {group} does not divide the"
        f" {spec.num_layers} layers of {spec.name}, as real devices need"
    )


def shared_devices(run: Run) -> Iterator[str]:
  """A line for each pool that cannot share devices."""
  for pool in pools_of(run) if run.cluster.share_devices else ():
    if pool.tp > 1:
      yield (
          f"cluster.share_devices: needs tp=1, role {pool.role} has {pool.tp};"
          " collectives of two workers on the same devices could wait for each"
          " other"
      )


def unfit_heads(run: Run, spec: ModelSpec) -> Iterator[str]:
  """A line for each pool whose `tp` does not fit the model."""
  for index, pool in enumerate(pools_of(run)):
    if mistake := spec.tp_error(pool.tp):
      yield f"{place_of(run, index, 'tp')}: {mistake}"


def empty_pools(run: Run) -> Iterator[str]:
  """A line for each pool that is smaller than a page."""
  for index, pool in enumerate(pools_of(run)):
    kv_tokens = pool.kv_tokens or DEFAULT_KV_TOKENS
    if kv_tokens < run.cluster.page_tokens:
      yield (
          f"{place_of(run, index, 'kv_tokens')}: {kv_tokens} is less than one"
          f" page of {run.cluster.page_tokens} tokens (cluster.page_tokens)"
      )


def beyond_positions(spec: ModelSpec, workload: Workload) -> Iterator[str]:
  """A line if requests are longer than the model's positions reach."""
  lengths = workload.total_tokens
  most = spec.max_position_embeddings
  beyond = sum(length > most for length in lengths)
  if beyond:
    yield (
        f"workload: {beyond} of {len(lengths)} requests are longer than the"
        f" {most} positions of {spec.name} (the longest has {max(lengths)}"
        " tokens); cut them with workload.max_prompt_tokens and"
        " workload.max_output_tokens, or take a model that reaches further"
    )


def none_fits(
    run: Run, workload: Workload, pool_pages: Sequence[int]
) -> Iterator[str]:
  """A line if there is no request that workers could serve.

  `pool_pages`: usable pages of each worker. Prompts are held by any worker
  that prefills, whole requests by any that decodes.
  """
  if not workload.requests:
    yield "workload: it has no request"
    return
  held = {
      "PC": ("prompt", [r.prompt_tokens for r in workload.requests]),
      "DC": ("request", workload.total_tokens),
  }
  for roles, (what, lengths) in held.items():
    room = room_tokens(run, pool_pages, roles)
    if room and min(lengths) > room:
      yield (
          f"cluster.kv_tokens: no {what} fits a worker's KV cache: the"
          f" shortest has {min(lengths)} tokens"
          f"{' with its answer' if what == 'request' else ''}, the largest"
          f" cache holds {room}"
      )
      return


def memory_bytes(run: Run, spec: ModelSpec, workload: Workload) -> int:
  """Of all workers together, on devices that are a part of the host: weights,
  pools, pages kept aside in host memory, and the largest pass of each."""
  total, weighed = 0, set()
  aside = (run.cluster.host_kv_tokens or 0) // run.cluster.page_tokens
  limits = limits_of(run, spec, workload)
  pools = zip(worker_pools(run), pool_pages_of(run), limits, strict=True)
  for worker, (pool, pages, limit) in enumerate(pools):
    need = memory.footprint(
        spec,
        dtypes=Dtypes.all(run.model.dtype),
        layout=pool.layout,
        page_tokens=run.cluster.page_tokens,
        step_tokens=limit.B + limit.U,
        max_num_seqs=limit.B,
    )
    place = "shared" if run.cluster.share_devices else worker
    weights = 0 if place in weighed else need.weight_bytes
    weighed.add(place)
    kv = (pages + 1 + aside) * need.page_bytes
    total += pool.tp * (weights + kv + need.activation_bytes)
  return total


def unknown_stop_ids(run: Run, spec: ModelSpec) -> Iterator[str]:
  """A line for each stop id beyond the model's vocabulary."""
  for index, token in enumerate(run.sampling.stop_ids):
    if token >= spec.vocab_size:
      yield (
          f"sampling.stop_ids[{index}]: {spec.name} has tokens 0 to"
          f" {spec.vocab_size - 1}, got {token}"
      )


def largest_request_tokens(run: Run) -> int:
  """Tokens, with the answer, of the largest request any worker can decode."""
  return room_tokens(run, pool_pages_of(run), "DC")


def end_ids_of(run: Run, end_ids: Sequence[int]) -> tuple[int, ...]:
  """Tokens that end an answer in this run: none where lengths are forced.

  Args:
    end_ids: those of the weights; `sampling.stop_ids` are added.

  Raises:
    ConfigError: answers should end at a token, but no token does that.
  """
  if run.workload.stop == "forced_length":
    return ()
  every = dict.fromkeys([*end_ids, *run.sampling.stop_ids])
  if not every and not run.sampling.stop:
    raise ConfigError([
        f"workload.stop: 'eos', but model.weights={run.model.weights!r} come"
        " with no end token; use 'forced_length' or name sampling.stop_ids"
    ])
  return tuple(every)


def limits_of(
    run: Run, spec: ModelSpec, workload: Workload
) -> list[Limits]:
  """The largest pass of each worker, for the requests that fit a pool."""
  return pass_limits(
      run, spec.num_kv_heads, workload.total_tokens, pool_pages_of(run),
      staging_pages(run, sent_page_bytes(run, spec)),
  )
