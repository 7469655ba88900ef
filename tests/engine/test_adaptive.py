"""Chunks by step costs, on real devices: tokens stay."""

import dataclasses

from pdjax.config import SLO
from pdjax.events import Step
from pdjax.schedule.setup import policy_of
from pdjax.simulate.fittedcost import PRICES, FittedCost
from tests.engine.engine_session import (
  check_tokens,
  engine_of,
  run_of,
  serve_on,
  workload,
)


def run_with(split, kind, **strategy):
  run = run_of(split, kind)
  changed = dataclasses.replace(run.strategy, **strategy)
  return dataclasses.replace(run, strategy=changed)


def test_chunks_follow_the_costs_that_are_told():
  """A token costs a second, so a page a step is all, where one decodes."""
  run = run_with("1C", "adaptive_chunk", chunk_size=32)
  run = dataclasses.replace(run, slo=SLO(tpot_s=0.5))
  prices = dict.fromkeys(PRICES, 0) | {"prompt_token_ps": 10**12}
  cost = FittedCost(**prices, copy_ps_per_byte=0.0, kv_bytes_per_token=1)
  with engine_of(run) as backend:
    served = serve_on(
        backend, run, workload(gap_ps=0), lambda run: policy_of(run, [cost])
    )
    check_tokens(backend, workload())
  mixed = [s for s in served.log.of(Step) if s.prefill and s.decode]
  assert mixed
  assert all(tokens <= 8 for s in mixed for _, tokens in s.prefill)
