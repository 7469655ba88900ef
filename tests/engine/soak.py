"""A long run under faults on real devices: nothing is lost, nothing grows.

    JAX_PLATFORMS=cpu python -m tests.engine.soak [requests [granularity]]

Small requests on two P and two D workers of the tiny model, handed over in
chunks unless another granularity is said. One transfer in
twenty is dropped, delayed, slowed or damaged, and workers are lost and come
back. Every law is checked, tokens against a plain forward pass, and the memory
of the process is told at a quarter of the requests and at the end.
"""

import collections
import dataclasses
import os
import sys

import numpy as np

from pdjax.config import Faults, TransferPlan
from pdjax.engine.backend import EngineBackend
from pdjax.engine.verify import verify_tokens
from pdjax.events import TransferEnded, WorkerLost
from pdjax.metrics.mishaps import figures, read_mishaps
from pdjax.request import Request
from pdjax.workload.workload import Workload
from tests.engine.engine_session import run_of, serve_on

REQUESTS = 2000
GAP_PS = 4 * 10**9
GROWTH_MB = 20.0
"""Of the last three quarters of the run: a leak of 14 KB a request would show;
what is kept of every request (its log, its tokens) takes a few."""
FAULTS = Faults(
    drop_share=0.0125, delay_share=0.0125, corrupt_share=0.0125,
    slow_share=0.0125, delay_s=0.01, worker_up_s=6.0, worker_down_s=0.05,
    retries=5, backoff_s=0.002, wait_s=5.0,
)


def load_of(requests: int) -> tuple[Workload, list[np.ndarray]]:
  rng = np.random.default_rng(0)
  prompts = rng.integers(4, 25, requests)
  outputs = rng.integers(2, 9, requests)
  asked = tuple(
      Request(
          id=id, arrival_ps=id * GAP_PS, prompt_tokens=int(prompt),
          max_tokens=int(output),
      )
      for id, (prompt, output) in enumerate(zip(prompts, outputs, strict=True))
  )
  said = [rng.integers(256, size=size, dtype=np.int32) for size in prompts]
  return Workload(asked, tuple(map(int, outputs)), {}), said


class Memory:
  """Resident megabytes of the process when so many requests have ended."""

  def __init__(self, marks: tuple[int, ...]):
    self._marks = list(marks)
    self.seen_mb: dict[int, float] = {}

  def __call__(self, event, world) -> None:
    for worker in world.workers:
      worker.pool.check(list(worker.held_pages()))
    ended = len(world.progress) - world.unfinished
    if self._marks and ended >= self._marks[0]:
      self.seen_mb[self._marks.pop(0)] = resident_mb()


def resident_mb() -> float:
  with open("/proc/self/statm") as file:
    pages = int(file.read().split()[1])
  return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def soak(requests: int, granularity: str) -> int:
  run = run_of("2P2D", "disaggregated", chunk_size=16, share=True)
  layers = 1 if granularity == "layers" else None
  plan = TransferPlan(granularity=granularity, layers=layers, verify=True)
  run = dataclasses.replace(
      run, faults=FAULTS,
      strategy=dataclasses.replace(run.strategy, transfer=plan),
  )
  load, said = load_of(requests)
  memory = Memory((requests // 4, requests))
  with EngineBackend(run, load, said, max_programs=12) as backend:
    served = serve_on(backend, run, load, watch=memory, said=said)
    agreement = verify_tokens(backend, load, 100)
  return told(served, memory, agreement)


def told(served, memory, agreement) -> int:
  """Prints what came of it; 0 if all is well."""
  states = collections.Counter(
      p.state.value for p in served.world.progress.values()
  )
  reasons = collections.Counter(
      e.failure for e in served.log.of(TransferEnded) if e.failure
  )
  first_mb, last_mb = memory.seen_mb.values()
  print("requests:", dict(states))
  print("faults:", figures(read_mishaps(served.log)))
  print("failed transfers:", dict(reasons))
  print(f"tokens: {agreement.checked} checked, {agreement.equal} equal")
  print("resident MB by requests ended:", {
      ended: round(mb, 1) for ended, mb in memory.seen_mb.items()
  })
  flat = last_mb - first_mb < GROWTH_MB
  lost = bool(served.log.of(WorkerLost))
  return 0 if flat and lost and agreement.holds else 1


if __name__ == "__main__":
  said = sys.argv[1:]
  sys.exit(soak(
      int(said[0]) if said else REQUESTS, said[1] if said[1:] else "chunk"
  ))
