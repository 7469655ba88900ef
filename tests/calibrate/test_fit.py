"""Prices fitted to steps, and a log served again with them."""


import numpy as np
import pytest

from pdjax.calibrate.fidelity import (
  compare,
  lost_by_choice,
  rank_correlation,
  simulate_again,
)
from pdjax.calibrate.fit import fit_cost, fit_link, step_errors
from pdjax.calibrate.observe import StepSeen, TransferSeen, observe
from pdjax.events import StepEnded
from pdjax.metrics.requests import table_of
from pdjax.schedule.cost import StepShape
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import policy_of, world_of
from pdjax.segments import elapsed_ps
from pdjax.simulate.backend import SimulatedBackend
from pdjax.simulate.fittedcost import FittedCost, Padding, features
from pdjax.simulate.links import Link
from pdjax.workload.clients import Open
from tests.laws.cluster import load_of, run_config

TRUE = FittedCost(
    fixed_ps=2_000_000_000,
    begin_ps=700_000_000,
    chunk_ps=300_000_000,
    prompt_token_ps=50_000_000,
    prompt_pair_ps=20_000,
    decode_ps=90_000_000,
    context_token_ps=150_000,
    copy_ps_per_byte=2.0,
    kv_bytes_per_token=1000,
)
LINK = Link(10**9, 5_000_000)


def shapes():
  draw = np.random.default_rng(0)
  for _ in range(400):
    chunks = tuple(
        (int(draw.integers(1, 600)), int(draw.integers(0, 2000)))
        for _ in range(draw.integers(0, 3))
    )
    seqs = int(draw.integers(0 if chunks else 1, 20))
    yield StepShape(chunks, seqs, seqs * int(draw.integers(1, 2000)))


def prices(cost):
  return cost.prices(False)


def test_exact_steps_give_back_their_prices():
  seen = [StepSeen(s, TRUE.step(s)[0].first_ps) for s in shapes()]
  cost = fit_cost(seen, [], 1000)
  assert prices(cost) == pytest.approx(prices(TRUE), rel=1e-3)
  assert np.abs(step_errors(cost, seen)).max() < 1e-3


def test_noise_that_grows_with_the_step_does_not_bias_the_prices():
  draw = np.random.default_rng(1)
  seen = [
      StepSeen(s, round(TRUE.step(s)[0].first_ps * draw.gamma(4.0, 0.25)))
      for s in (*shapes(), *shapes(), *shapes())
  ]
  cost = fit_cost(seen, [], 1000)
  # Of true prices: the mean of 1 / noise is 4 / 3.
  assert step_errors(cost, seen).mean() == pytest.approx(1 / 3, abs=0.08)
  priced = sum(cost.step(s.shape)[0].first_ps for s in seen)
  assert priced == pytest.approx(sum(s.elapsed_ps for s in seen), rel=0.05)


def test_no_price_is_negative_even_when_longer_steps_are_faster():
  seen = [
      StepSeen(StepShape((), 1, context), 10**9 - context * 1000)
      for context in range(1, 1000, 50)
  ]
  assert min(prices(fit_cost(seen, [], 1000))) >= 0


def test_a_run_of_steps_is_a_straight_line():
  run = TRUE.step(StepShape((), 3, 300, repeats=5))
  single = [
      TRUE.step(StepShape((), 3, 300 + 3 * index))[0].first_ps
      for index in range(5)
  ]
  assert [elapsed_ps(run, n) for n in range(1, 6)] == np.cumsum(single).tolist()


def test_features_count_what_a_causal_chunk_attends_to():
  pairs = features(StepShape(((3, 10),)))[4]
  assert pairs == 11 + 12 + 13


def test_the_link_is_found():
  seen = [
      TransferSeen(size, 0, LINK.transfer_ps(size), 0)
      for size in (10_000, 50_000, 200_000, 10**6)
  ]
  link = fit_link(seen)
  assert link.bandwidth_bytes_per_s == pytest.approx(10**9, rel=1e-3)
  assert link.latency_ps == pytest.approx(5_000_000, rel=1e-2)


@pytest.mark.parametrize("kind", ["continuous", "chunked", "disaggregated"])
def test_a_log_of_known_prices_is_observed_and_served_again_exactly(kind):
  run = run_config(kind, kv_tokens=2000)
  load = load_of(*((i * 9000, 20 + 11 * i, 5 + i) for i in range(10)))
  workers = 2 if kind == "disaggregated" else 1
  pages = [250] * workers
  backend = SimulatedBackend(
      Open(load.requests), load.output_tokens, [TRUE] * workers,
      [LINK] * workers, tells_beginnings=True,
  )
  log = serve(policy_of(run), backend, world_of(run, pages))
  seen = observe(log, policy_of(run), world_of(run, pages))
  assert len(seen.steps) == sum(e.steps for e in log.of(StepEnded))
  assert np.abs(step_errors(TRUE, seen.steps)).max() < 1e-9 or workers == 2
  assert len(seen.transfers) == (10 if workers == 2 else 0)
  again = simulate_again(log, run, [TRUE] * workers, LINK, pages)
  assert list(again) == list(log)
  tables = table_of(log, run), table_of(again, run)
  assert {one.error for one in compare(*tables)} == {0.0}


def test_padding_prices_what_is_computed():
  padding = Padding(sequences=(2, 8), prompt_tokens=(64, 256))
  alone = features(StepShape((), 3, 300), padding)
  assert alone[5:] == (8, 300)
  mixed = features(StepShape(((70, 0),), 1, 100), padding)
  assert (mixed[3], mixed[5]) == (256, 8)
  assert features(StepShape(((300, 0),)), padding)[3] == 256 + 64


def test_a_step_disturbed_by_the_machine_bends_no_price():
  seen = [StepSeen(s, TRUE.step(s)[0].first_ps) for s in shapes()]
  slow = [
      StepSeen(s.shape, 30 * s.elapsed_ps) if i % 40 == 0 else s
      for i, s in enumerate(seen)
  ]
  errors = np.abs(step_errors(fit_cost(slow, [], 1000), seen))
  assert np.median(errors) < 0.2


def test_decisions_are_compared_by_rank_and_by_what_they_cost():
  assert rank_correlation([1, 2, 3], [10, 20, 30]) == 1.0
  assert rank_correlation([1, 2], [1, 2]) is None
  assert lost_by_choice([1.0, 2.0, 1.5], [5.0, 6.0, 9.0]) == 0.25
  assert lost_by_choice([0.0], [1.0]) is None
