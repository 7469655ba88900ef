"""Small engines and one workload: what tests of the engine drive."""

import dataclasses

import numpy as np

from pdjax import config, events
from pdjax.engine import capacity
from pdjax.engine.agreement import Agreement, compare_answers
from pdjax.engine.backend import EngineBackend
from pdjax.engine.verify import verify_tokens
from pdjax.metrics.requests import request_table
from pdjax.request import Request
from pdjax.schedule.loop import Policy, serve
from pdjax.schedule.replay import replay
from pdjax.schedule.setup import policy_of, world_of
from pdjax.schedule.world import World
from pdjax.segments import elapsed_ps
from pdjax.workload.workload import Workload

PAGE_TOKENS = 8
PROMPT_TOKENS = (21, 40, 3, 66, 1, 16, 33, 8)
OUTPUT_TOKENS = (24, 9, 20, 13, 1, 24, 2, 17)
MAX_TOKENS = 24
GREEDY = config.Sampling()
VERIFIED = config.TransferPlan(verify=True)
GAP_PS = 2_000_000_000
"""Between arrivals: a few steps."""


def workload(gap_ps: int = GAP_PS, requests: int = 8) -> Workload:
  """The first few of the requests above, at equal distances."""
  asked = tuple(
      Request(
          id=id, arrival_ps=id * gap_ps, prompt_tokens=tokens,
          max_tokens=MAX_TOKENS,
      )
      for id, tokens in enumerate(PROMPT_TOKENS[:requests])
  )
  return Workload(asked, OUTPUT_TOKENS[:requests], {})


def prompts(requests: int = 8) -> list[np.ndarray]:
  rng = np.random.default_rng(0)
  return [
      rng.integers(256, size=tokens, dtype=np.int32)
      for tokens in PROMPT_TOKENS[:requests]
  ]


def run_of(
    split: str,
    kind: str = "continuous",
    *,
    chunk_size: int | None = None,
    decode_first: bool = False,
    tp: int | dict[str, int] = 1,
    kv_tokens: int = 800,
    reserve_pages: int = 1,
    ahead: int = 0,
    share: bool = False,
    dtype: str = "float32",
    sampling: config.Sampling = GREEDY,
    stop: str = "forced_length",
    plan: config.TransferPlan = VERIFIED,
) -> config.Run:
  """A run of the tiny model; hand-offs compare checksums."""
  return config.Run(
      backend=config.Backend(kind="jax"),
      model=config.Model(preset="tiny", dtype=dtype),
      cluster=config.Cluster(
          split=split, tp=tp, page_tokens=PAGE_TOKENS, kv_tokens=kv_tokens,
          reserve_pages=reserve_pages, share_devices=share,
      ),
      strategy=config.Strategy(
          kind=kind, chunk_size=chunk_size, max_num_seqs=6,
          priority="decode_first" if decode_first else None,
          transfer=plan,
      ),
      workload=config.Workload(stop=stop),
      sampling=sampling,
      engine=config.Engine(dispatch_ahead=ahead),
  )


def engine_of(run: config.Run, **options) -> EngineBackend:
  """Poisoned, with few programs."""
  options = {"poison": True, "max_programs": 6, **options}
  return EngineBackend(run, workload(), prompts(), **options)


@dataclasses.dataclass(frozen=True)
class Served:
  """One run, already found lawful."""

  log: events.Log
  world: World
  tokens: dict[int, list[int]]
  gaps: dict[int, list[float]]

  @property
  def preemptions(self) -> int:
    return sum(p.preemptions for p in self.world.progress.values())

  def same_tokens(self, other: "Served") -> bool:
    assert len(self.tokens) == len(other.tokens) > 0
    return all(
        compare_answers(
            (tokens, self.gaps[id]), (other.tokens[id], other.gaps[id])
        ).holds
        for id, tokens in self.tokens.items()
    )


def serve_on(
    backend: EngineBackend,
    run: config.Run,
    load: Workload | None = None,
    policy=policy_of,
    watch=lambda event, world: None,
    *,
    sampling=None,
    said=None,
    plan=None,
) -> Served:
  """Serves the workload as `run` says and checks every law of a run.

  `run` may differ from the engine's own in what the scheduler alone knows:
  strategy, chunk size, and a pool smaller than the engine's.
  """
  load = load or workload()
  backend.reset(load, said or prompts(len(load.requests)), sampling, plan)

  def fresh() -> tuple[Policy, World]:
    sizes = capacity.pool_pages_of(run), capacity.staging_pages_of(run)
    return policy(run), world_of(run, *sizes)

  rule, world = fresh()
  log = serve(rule, backend, world, watch)
  served = Served(log, world, dict(backend.tokens), dict(backend.gaps))
  assert not world.unfinished
  for worker in world.workers:
    worker.pool.check([])
    assert not worker.staged_pages
  replayed = replay(log, *fresh())
  assert replayed.identical == replayed.commands > 0, replayed.difference
  _check_times(served)
  _check_staging(run, served)
  return served


def check_tokens(backend: EngineBackend, load: Workload) -> Agreement:
  """All tokens against the plain forward pass."""
  agreement = verify_tokens(backend, load, len(PROMPT_TOKENS))
  assert agreement.holds
  assert agreement.checked == sum(map(len, backend.tokens.values()))
  return agreement


def _check_staging(run: config.Run, served: Served) -> None:
  """No worker had more on its way than its budget."""
  plan = run.strategy.transfer
  if plan and plan.staging_bytes is not None:
    found = request_table(served.log).attribution
    assert found.staging_peak_bytes <= plan.staging_bytes


def _check_times(served: Served) -> None:
  """Token times lie between the run's start and its report."""
  for ended in served.log.of(events.StepEnded):
    assert len(ended.segments) == ended.steps > 0
    assert all(segment.first_ps > 0 for segment in ended.segments)
    last_ps = ended.started_ps + elapsed_ps(ended.segments, ended.steps)
    assert 0 <= ended.started_ps < last_ps <= ended.at_ps
