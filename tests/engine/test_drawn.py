"""Law 5 where tokens are drawn: how a request is served changes nothing."""

import dataclasses

import numpy as np
import pytest

from pdjax.config import Sampling
from pdjax.engine import sampling
from tests.engine.engine_session import (
    check_tokens,
    engine_of,
    run_of,
    serve_on,
    workload,
)

DRAWN = Sampling(temperature=1.0, top_k=60, top_p=0.95, min_p=0.02, seed=1)
CHUNKED = run_of("2C", "chunked", chunk_size=32, sampling=DRAWN)
WHOLE = run_of("2C", sampling=DRAWN)


@pytest.fixture(name="engine", scope="module")
def _engine():
  with engine_of(CHUNKED, max_programs=3) as backend:
    yield backend


@pytest.fixture(name="truth", scope="module")
def _truth(engine):
  served = serve_on(engine, WHOLE)
  check_tokens(engine, workload())
  return served


@pytest.mark.parametrize("run", [
    CHUNKED, run_of("1C", kv_tokens=13 * 8, reserve_pages=0, sampling=DRAWN)
], ids=["chunked", "preempted"])
def test_drawn_tokens_do_not_depend_on_the_strategy(engine, truth, run):
  served = serve_on(engine, run, workload(gap_ps=0))
  assert bool(served.preemptions) == (run is not CHUNKED)
  assert served.same_tokens(truth)
  assert engine.compiles_in_window == 0


def test_drawn_tokens_do_not_depend_on_the_split(truth):
  run = run_of("1P1D", "disaggregated", sampling=DRAWN)
  with engine_of(run, max_programs=5) as backend:
    assert serve_on(backend, run).same_tokens(truth)


def test_requests_may_differ_in_how_they_draw(engine, truth):
  """Greedy answers stay greedy among warm ones; nothing is compiled anew."""
  greedy = serve_on(engine, WHOLE, sampling=[Sampling()] * 8)
  assert not greedy.same_tokens(truth)
  mixed = [
      sampling.own(DRAWN, id) if id % 2 else Sampling() for id in range(8)
  ]
  served = serve_on(engine, WHOLE, workload(gap_ps=0), sampling=mixed)
  check_tokens(engine, workload())
  assert engine.compiles_in_window == 0
  expected = {
      id: (truth if id % 2 else greedy).tokens[id] for id in range(8)
  }
  assert served.tokens == expected


def test_a_seed_is_the_requests_own(engine):
  """Twice the same prompt: equal for equal seeds only."""
  load, said = workload(gap_ps=0, requests=3), np.arange(5, dtype=np.int32)
  ask = dataclasses.replace
  alike = tuple(
      ask(load.requests[0], id=id, prompt_tokens=5) for id in range(3)
  )
  load = ask(load, requests=alike, output_tokens=(20, 20, 20))
  seeds = [ask(DRAWN, seed=seed) for seed in (7, 7, 8)]
  served = serve_on(engine, WHOLE, load, sampling=seeds, said=[said] * 3)
  one, same, other = served.tokens.values()
  assert one == same != other
