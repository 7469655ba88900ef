"""Law 5 where tokens are drawn and texts end answers: nothing else matters."""

import dataclasses

import numpy as np
import pytest

from pdjax.config import Sampling
from pdjax.engine import sampling
from pdjax.engine.steps import Padding
from tests.engine.engine_session import (
    OUTPUT_TOKENS,
    check_tokens,
    engine_of,
    run_of,
    serve_on,
    workload,
)

STOPS = ("a3", "7f", "c0", "119")
DRAWN = Sampling(
    temperature=1.0, top_k=60, top_p=0.95, min_p=0.02, seed=1, stop=STOPS
)
SPELLED = [f"{token:02x}".encode() for token in range(256)]
"""Two letters a token: a stop string may begin and end inside tokens."""


def run(split, kind="continuous", **options):
  return run_of(split, kind, sampling=DRAWN, stop="eos", **options)


def built(run):
  return engine_of(run, token_bytes=SPELLED, max_programs=5)


CHUNKED, WHOLE = run("2C", "chunked", chunk_size=32), run("2C")


@pytest.fixture(name="engine", scope="module")
def _engine():
  with built(CHUNKED) as backend:
    yield backend


@pytest.fixture(name="truth", scope="module")
def _truth(engine):
  served = serve_on(engine, WHOLE)
  check_tokens(engine, workload())
  return served


def text_of(tokens):
  return b"".join(SPELLED[token] for token in tokens).decode()


def test_an_answer_ends_with_the_token_that_completes_a_stop_string(truth):
  stopped = 0
  for id, tokens in truth.tokens.items():
    *before, text = (text_of(tokens[:n]) for n in range(1, len(tokens) + 1))
    ends = [stop in text for stop in STOPS]
    assert not any(stop in early for early in before for stop in STOPS)
    assert any(ends) or len(tokens) == OUTPUT_TOKENS[id]
    stopped += any(ends)
  assert 2 <= stopped < len(truth.tokens)


@pytest.mark.parametrize("run", [
    CHUNKED, run("1C", kv_tokens=13 * 8, reserve_pages=0)
], ids=["chunked", "preempted"])
def test_drawn_tokens_do_not_depend_on_the_strategy(engine, truth, run):
  served = serve_on(engine, run, workload(gap_ps=0))
  assert bool(served.preemptions) == (run is not CHUNKED)
  assert served.same_tokens(truth)
  assert engine.compiles_in_window == 0


def test_drawn_tokens_do_not_depend_on_the_split(truth):
  """With a step dispatched ahead, which an ending answer wastes."""
  split = run("1P1D", "disaggregated", ahead=1)
  with built(split) as backend:
    assert serve_on(backend, split).same_tokens(truth)
    assert Padding.sum(backend.padding).wasted_tokens > 0


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
