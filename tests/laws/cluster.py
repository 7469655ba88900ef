"""Small simulated clusters for the laws, drawn or given."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from pdjax.clients import Clients
from pdjax.config import (
  SLO,
  Backend,
  Cluster,
  Fault,
  Faults,
  Model,
  RoleChange,
  Run,
  Strategy,
  TransferPlan,
  pools_of,
)
from pdjax.events import (
  Displaced,
  Log,
  Preempt,
  Restart,
  Step,
  StepEnded,
)
from pdjax.request import Request
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import world_of
from pdjax.schedule.world import World
from pdjax.segments import elapsed_ps
from pdjax.simulate.cluster import cluster_of
from pdjax.simulate.stepcosts import policy_for
from pdjax.window import Window
from pdjax.workload.clients import Behaviour, clients_of

US = 10**6
"""Picoseconds in a microsecond: steps of these clusters take thousands."""

STEP_LIMIT_S = 0.0117
"""Of adaptive chunks: passed by some chunks of these clusters, kept by others.
"""

TOKEN_BYTES = 2 * 32 * 32 * 128 * 2
"""Of a cached token of llama-2-7b in bfloat16, on its way too."""

BLOCK_TOKENS = 12
"""No multiple of a page, so some pages lie in two blocks."""

COLOCATED = (
    "continuous", "decode first", "static", "chunked", "adaptive_chunk",
    "vllm_v1", "lanes", "lanes, chunked",
)
AHEAD = {
    "reserved at prefill start": TransferPlan(reserve_at="prefill_start"),
    "reserved on arrival": TransferPlan(reserve_at="arrival"),
    "pages of chunks": TransferPlan(granularity="chunk"),
    "pages of chunks, on arrival": TransferPlan(
        granularity="chunk", reserve_at="arrival"
    ),
    "layer by layer": TransferPlan(granularity="layers", layers=8),
    "layer by layer of chunks": TransferPlan(granularity="layers", layers=12),
    "conditional, pages of chunks": TransferPlan(granularity="chunk"),
    "elastic, pages of chunks": TransferPlan(granularity="chunk"),
}
"""Hand-offs with a place on D before their prompt starts, by kind."""
KINDS = (
    *COLOCATED, "disaggregated", "chunked prefill on P", "conditional",
    "conditional, chunked", "elastic", *AHEAD,
)
ROUTERS = ("round_robin", "least_outstanding_tokens", "join_shortest_queue")


def run_config(
    kind: str = "continuous",
    split: str | None = None,
    *,
    kv_tokens: int = 512,
    page_tokens: int = 8,
    reserve_pages: int = 1,
    dispatch_ahead: int = 0,
    **strategy,
) -> Run:
  """A llama-2-7b cluster on A100 with pools far smaller than theirs."""
  disaggregated = kind not in COLOCATED
  names = {
      "decode first": "continuous",
      "chunked prefill on P": "disaggregated",
      "conditional, chunked": "conditional",
      "lanes, chunked": "lanes",
      **dict.fromkeys(AHEAD, "disaggregated"),
      "conditional, pages of chunks": "conditional",
      "elastic, pages of chunks": "elastic",
  }
  settings = {
      "kind": names.get(kind, kind),
      "priority": "decode_first" if kind == "decode first" else None,
      "chunk_size": 32 if "chunk" in kind or kind == "vllm_v1" else None,
      "max_num_batched_tokens": 200,
      "local_prompt_tokens": 60 if "conditional" in kind else None,
      "transfer": AHEAD.get(kind),
      **strategy,
  }
  base = Run()
  return dataclasses.replace(
      base,
      backend=Backend(kind="simulated"),
      model=Model(preset="llama-2-7b"),
      cluster=Cluster(
          split=split or ("1P1D" if disaggregated else "1C"),
          chip="a100-80gb-sxm",
          kv_tokens=kv_tokens,
          page_tokens=page_tokens,
          reserve_pages=reserve_pages,
      ),
      strategy=Strategy(**settings),
      slo=SLO(tpot_s=STEP_LIMIT_S) if kind == "adaptive_chunk" else base.slo,
      engine=dataclasses.replace(base.engine, dispatch_ahead=dispatch_ahead),
  )


@dataclasses.dataclass(frozen=True)
class Load:
  """What arrives, how long answers truly are, and what clients do."""

  requests: tuple[Request, ...]
  output_tokens: tuple[int, ...]
  behaviour: Behaviour | None = None
  window: Window | None = None
  cancel_after_ps: Mapping[int, int] = dataclasses.field(default_factory=dict)

  def clients(self) -> Clients:
    return clients_of(
        self.requests, self.behaviour, self.window, self.cancel_after_ps
    )


def load_of(*rows: tuple[int, int, int]) -> Load:
  """From rows of (arrival in µs, prompt tokens, output tokens)."""
  requests = tuple(
      Request(
          id=index,
          arrival_ps=arrival_us * US,
          prompt_tokens=prompt,
          max_tokens=output,
      )
      for index, (arrival_us, prompt, output) in enumerate(rows)
  )
  return Load(requests, tuple(output for _, _, output in rows))


@st.composite
def loads(draw, max_size: int = 25) -> Load:
  """Up to `max_size` requests, some at one instant, some declaring too much.

  In half of the loads clients give up and set deadlines. Prompts begin with
  named blocks, of which there are few kinds.
  """
  limit = st.none()
  if draw(st.booleans()):
    limit |= st.integers(1, 2_000) | st.integers(1, 400_000)
  row = st.tuples(
      st.one_of(st.just(0), st.integers(0, 60_000)),
      st.integers(1, 150),
      st.integers(1, 50),
      st.integers(0, 20),
      limit,
      limit,
      st.lists(st.integers(0, 1), max_size=8),
  )
  rows = draw(st.lists(row, min_size=1, max_size=max_size))
  at_us, requests, cancel_after_ps = 0, [], {}
  for index, (
      gap_us, prompt, output, slack, gives_up, due, blocks
  ) in enumerate(rows):
    at_us += gap_us
    if gives_up:
      cancel_after_ps[index] = gives_up * US
    requests.append(
        Request(
            id=index,
            arrival_ps=at_us * US,
            prompt_tokens=prompt,
            max_tokens=output + slack,
            deadline_ps=(at_us + due) * US if due else None,
            prefix_ids=tuple(blocks),
            prefix_block_tokens=BLOCK_TOKENS if blocks else 0,
        )
    )
  outputs = tuple(output for _, _, output, *_ in rows)
  return Load(tuple(requests), outputs, cancel_after_ps=cancel_after_ps)


@st.composite
def configs(draw) -> Run:
  """A strategy, a split and pools that sometimes force preemption."""
  kind = draw(st.sampled_from(KINDS))
  if kind in COLOCATED:
    split = draw(st.sampled_from(["1C", "2C", "3C"]))
  else:
    split = draw(st.sampled_from(["1P1D", "2P1D", "1P2D", "2P2D", "1P3D"]))
  page_tokens = draw(st.sampled_from([8, 16]))
  return run_config(
      kind,
      split,
      kv_tokens=draw(st.sampled_from([64, 128, 208, 400, 2000])),
      page_tokens=page_tokens,
      reserve_pages=draw(st.sampled_from([0, 1, 3])),
      max_num_seqs=draw(st.sampled_from([2, 5, 64])),
      router=draw(st.sampled_from(ROUTERS)),
      prefix_cache=draw(st.booleans()),
      transfer=None if kind in COLOCATED else _plan(draw, kind, page_tokens),
      **_drawn_of(draw, kind),
  )


def _plan(draw, kind: str, page_tokens: int) -> TransferPlan | None:
  """That of the kind, half of the time with a budget of a few pages."""
  pages = draw(st.sampled_from([None, None, 1, 3, 8]))
  plan = AHEAD.get(kind)
  if pages is None:
    return plan
  return dataclasses.replace(
      plan or TransferPlan(), staging_bytes=pages * page_tokens * TOKEN_BYTES
  )


def _drawn_of(draw, kind: str) -> dict[str, Any]:
  """Settings that only some kinds read."""
  if "elastic" in kind:
    rule = RoleChange(
        queue_tokens=draw(st.sampled_from([0, 100, 400])),
        window_s=draw(st.sampled_from([1e-9, 0.02])),
        pause_s=draw(st.sampled_from([0, 0.1])),
    )
    return {"elastic": rule}
  if "conditional" not in kind:
    return {}
  return {
      "local_prompt_tokens": draw(st.sampled_from([0, 20, 60, 150])),
      "local_prefix_share": draw(st.sampled_from([None, 0.3])),
  }


_SHARES = st.sampled_from([0.0, 0.0, 0.1, 0.25])


@st.composite
def faults(draw, workers: int = 4) -> Faults:
  """Faults of all kinds, drawn and one by one; transfers may have none."""
  when_s = st.floats(0, 0.4)
  worker = st.integers(0, workers - 1)
  losses = st.builds(
      Fault, kind=st.just("worker_lost"), at_s=when_s, worker=worker,
      down_s=st.none() | st.floats(0, 0.2),
  )
  seen = st.builds(
      Fault, kind=st.sampled_from(["worker_lost", "cancelled", "deadline"]),
      request=st.integers(0, 9),
      state=st.sampled_from(
          ["waiting", "prefill", "handoff", "transfer", "decode"]
      ),
  )
  moves = st.builds(
      Fault,
      kind=st.sampled_from([
          "transfer_dropped", "transfer_delayed", "transfer_corrupted",
          "transfer_slowed",
      ]),
      request=st.integers(0, 9), times=st.integers(1, 4),
  )
  return Faults(
      events=tuple(draw(st.lists(losses | seen | moves, max_size=5))),
      drop_share=draw(_SHARES), delay_share=draw(_SHARES),
      corrupt_share=draw(_SHARES), slow_share=draw(_SHARES),
      delay_s=0.02,
      worker_up_s=draw(st.sampled_from([None, None, 0.05, 0.3])),
      worker_down_s=draw(st.sampled_from([0.001, 0.1])),
      seed=draw(st.integers(0, 99)),
      recovery=draw(st.sampled_from(["retry", "recompute", "fail"])),
      retries=draw(st.sampled_from([0, 1, 3])),
      backoff_s=draw(st.sampled_from([0.0, 0.005])),
      wait_s=draw(st.sampled_from([0.01, 1.0])),
  )


def beset(run: Run, hits: Faults, verify: bool = True) -> Run:
  """The same run with faults, and checksums or none.

  Numbers of workers beyond the last begin again at 0.
  """
  workers = sum(pool.count for pool in pools_of(run))
  events = tuple(
      fault if fault.worker is None
      else dataclasses.replace(fault, worker=fault.worker % workers)
      for fault in hits.events
  )
  hits = dataclasses.replace(hits, events=events)
  plan = run.strategy.transfer or TransferPlan()
  strategy = dataclasses.replace(
      run.strategy, transfer=dataclasses.replace(plan, verify=verify)
  )
  return dataclasses.replace(run, faults=hits, strategy=strategy)


def world_for(run: Run) -> World:
  cluster = cluster_of(run)
  return world_of(run, cluster.pool_pages, cluster.staging_pages)


def serve_load(
    run: Run, load: Load, policy=None, watch=None
) -> tuple[Log, World]:
  """Serves a load on a fresh simulated cluster."""
  cluster = cluster_of(run)
  world = world_of(run, cluster.pool_pages, cluster.staging_pages)
  backend = cluster.backend(load.clients(), load.output_tokens)
  watch = watch or (lambda event, world: None)
  return serve(policy or policy_for(run), backend, world, watch), world


def token_times(log: Log) -> dict[int, list[int]]:
  """When each request's tokens were made, in picoseconds, the slow way."""
  times: dict[int, list[int]] = {}
  left: dict[int, int] = {}
  steps = {step.run: step for step in log.of(Step)}
  targets: dict[int, int] = {}
  for _, entry in log:
    match entry:
      case StepEnded():
        step, made = steps[entry.run], dict(entry.finished)
        for request in step.decode:
          for j in range(made.get(request, entry.steps)):
            at = entry.started_ps + elapsed_ps(entry.segments, j + 1)
            times.setdefault(request, []).append(at)
        for request, tokens in step.prefill:
          left[request] -= tokens
          if not left[request]:
            times.setdefault(request, []).append(entry.at_ps)
      case _ if type(entry).__name__ == "Arrived":
        targets[entry.request.id] = entry.request.prompt_tokens
        left[entry.request.id] = entry.request.prompt_tokens
      case _ if type(entry).__name__ == "Reserve":
        left[entry.request] -= entry.cached_tokens
      case Preempt() | Restart() | Displaced():
        made_so_far = len(times.get(entry.request, ()))
        left[entry.request] = targets[entry.request] + made_so_far
      case _:
        pass
  return times
