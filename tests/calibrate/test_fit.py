"""Prices fitted to steps, and a log served again with them."""


import dataclasses

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
from pdjax.events import Arrived, Log, StepEnded
from pdjax.metrics.requests import table_of
from pdjax.schedule.cost import StepShape
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import policy_of, world_of
from pdjax.segments import elapsed_ps
from pdjax.simulate.fittedcost import PRICES, FittedCost, Padding, features
from pdjax.simulate.hostshare import SharedBackend
from pdjax.simulate.links import Link
from pdjax.simulate.sharing import ALONE, Beside, Sharing
from pdjax.workload.clients import Open
from tests.laws.cluster import load_of, run_config

TRUE = FittedCost(
    fixed_ps=2_000_000_000,
    begin_ps=700_000_000,
    rest_ps=9_000,
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
    yield StepShape(
        chunks, seqs, seqs * int(draw.integers(1, 2000)),
        rested_us=int(draw.integers(0, 70_000)),
    )


def prices(cost):
  return cost.prices()


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
  pairs = features(StepShape(((3, 10),)))[PRICES.index("prompt_pair_ps")]
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
  backend = SharedBackend(
      Open(load.requests), load.output_tokens, [TRUE] * workers,
      [LINK] * workers, fitted=[TRUE] * workers,
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
  assert alone[-2:] == (8, 300)
  mixed = features(StepShape(((70, 0),), 1, 100), padding)
  tokens = PRICES.index("prompt_token_ps")
  assert (mixed[tokens], mixed[-2]) == (256, 8)
  assert features(StepShape(((300, 0),)), padding)[tokens] == 256 + 64


def test_a_step_disturbed_by_the_machine_bends_no_price():
  seen = [StepSeen(s, TRUE.step(s)[0].first_ps) for s in shapes()]
  slow = [
      StepSeen(s.shape, 30 * s.elapsed_ps) if i % 40 == 0 else s
      for i, s in enumerate(seen)
  ]
  errors = np.abs(step_errors(fit_cost(slow, [], 1000), seen))
  assert np.median(errors) < 0.2


def mixed_load(count=60):
  rows = ((i * 45_000, 20 + 37 * i % 200, 12 + i % 20) for i in range(count))
  return load_of(*rows)


def shared_log(cost, run, workers):
  load, pages = mixed_load(), [250] * workers
  backend = SharedBackend(
      Open(load.requests), load.output_tokens, [cost] * workers,
      [LINK] * workers, fitted=[cost] * workers,
  )
  log = serve(policy_of(run), backend, world_of(run, pages))
  return observe(log, policy_of(run), world_of(run, pages)).steps


def beside(prompts, decodes):
  """Every price rises by such shares of itself beside neighbours."""
  return Sharing(**{
      kind: tuple([round(share * price) for price in TRUE.prices()])
      for kind, share in (("prompts", prompts), ("decodes", decodes))
  })


def slowdowns(cost, true):
  """Of passes as in a log, beside either kind of neighbour, over the truth."""
  for shape in (StepShape(((200, 0),)), StepShape((), 4, 800)):
    for company in (Beside(1, 0), Beside(0, 1)):
      found, right = (
          c.step(shape, company)[0].first_ps for c in (cost, true)
      )
      yield found / right


@pytest.mark.parametrize("kind", ["continuous", "chunked"])
@pytest.mark.parametrize("workers", [2, 3])
def test_what_workers_lose_to_each_other_is_found_in_a_log(kind, workers):
  true = dataclasses.replace(TRUE, sharing=beside(0.3, 0.8))
  run = run_config(kind, f"{workers}C", kv_tokens=2000)
  seen = shared_log(true, run, workers)
  company = [step for step in seen if step.shares != ((ALONE, 1.0),)]
  assert 0.2 < len(company) / len(seen) < 0.9  # both kinds are in it
  cost = fit_cost(seen, [], 1000, shared=True)
  assert np.quantile(np.abs(step_errors(cost, company)), 0.9) < 0.02
  *_, decodes_beside_decodes = slowdowns(cost, true)  # what most of them are
  assert decodes_beside_decodes == pytest.approx(1, rel=0.01)
  taken_apart = fit_cost(seen, [], 1000)
  assert not any(taken_apart.sharing.prompts + taken_apart.sharing.decodes)
  assert np.median(np.abs(step_errors(taken_apart, seen))) > 0.05


def test_what_a_price_rises_by_is_its_own():
  """Beside others a pass may take longer, and a context no longer."""
  rises = dict.fromkeys(PRICES, 0) | {"fixed_ps": TRUE.fixed_ps}
  only = Sharing(decodes=tuple(rises.values()))
  true = dataclasses.replace(TRUE, sharing=only)
  seen = shared_log(true, run_config("chunked", "2C", kv_tokens=2000), 2)
  cost = fit_cost(seen, [], 1000, shared=True)
  *few, decodes_beside_decodes = slowdowns(cost, true)
  assert decodes_beside_decodes == pytest.approx(1, rel=0.03)
  assert few == pytest.approx([1] * 3, rel=0.25)  # drawn to the mean


def test_a_few_steps_make_no_rise_of_their_own():
  """One slow prefill beside decodes says little; decodes rise by a third."""
  shape, prompt = StepShape((), 2, 400), StepShape(((50, 0),))
  alone_ps, prompt_ps = (TRUE.step(s)[0].first_ps for s in (shape, prompt))
  others = ((Beside(0, 1), 1.0),)
  seen = [StepSeen(shape, alone_ps), StepSeen(shape, alone_ps * 4 // 3, others)]
  seen = 200 * seen + 20 * [StepSeen(prompt, prompt_ps)]
  slow = StepSeen(prompt, 40 * prompt_ps, others)
  cost = fit_cost([*seen, slow], [], 1000, shared=True)
  long = StepShape(((500, 0),))
  rise = cost.step(long, Beside(0, 1))[0].first_ps / cost.step(long)[0].first_ps
  assert 1.2 < rise < 4


def test_workers_that_lose_nothing_are_found_to():
  seen = shared_log(TRUE, run_config("chunked", "2C", kv_tokens=2000), 2)
  cost = fit_cost(seen, [], 1000, shared=True)
  assert [*slowdowns(cost, TRUE)] == pytest.approx([1] * 4, rel=0.01)


def test_all_prices_scale_together():
  true = dataclasses.replace(TRUE, sharing=beside(0.3, 0.8))
  shape, company = StepShape(((200, 0),), 3, 90), Beside(1, 2)
  once, twice = (
      cost.step(shape, company)[0].first_ps for cost in (true, true.scaled(2.0))
  )
  assert twice == 2 * once


def test_a_pass_begins_when_the_simulator_would_begin_it():
  """Not when the engine's thread did: what lies between is the price of a
  command."""
  run = run_config("continuous", kv_tokens=2000)
  load, pages = load_of((1000, 20, 9)), [250]
  backend = SharedBackend(
      Open(load.requests), load.output_tokens, [TRUE], [LINK], fitted=[TRUE],
  )
  log = serve(policy_of(run), backend, world_of(run, pages))
  late_ps, late = 70_000_000, Log()
  for at_ps, entry in log:
    if isinstance(entry, (Arrived, StepEnded)):
      entry = dataclasses.replace(entry, at_ps=entry.at_ps + late_ps)
    late.append(at_ps, entry)
  before, after = (
      observe(each, policy_of(run), world_of(run, pages)).steps
      for each in (log, late)
  )
  assert [s.elapsed_ps for s in before] == [s.elapsed_ps for s in after]


def test_a_copy_has_a_price_of_its_own_whatever_its_size():
  seen = [
      TransferSeen(size, 900_000_000 + 2 * size, 1, 200_000_000 + 2 * size)
      for size in (10**5, 10**6, 10**8)
  ]
  cost = fit_cost([StepSeen(StepShape((), 1, 10), 10**9)], seen, 1000)
  assert cost.gather_ps(10**6) == pytest.approx(902_000_000, rel=1e-3)
  assert cost.scatter_ps(10**6) == pytest.approx(202_000_000, rel=1e-3)


def test_decisions_are_compared_by_rank_and_by_what_they_cost():
  assert rank_correlation([1, 2, 3], [10, 20, 30]) == 1.0
  assert rank_correlation([1, 2], [1, 2]) is None
  assert lost_by_choice([1.0, 2.0, 1.5], [5.0, 6.0, 9.0]) == 0.25
  assert lost_by_choice([0.0], [1.0]) is None
