"""Law 7: a run of r decode steps is r single steps; one request is exact."""

import dataclasses

import pytest
from hypothesis import given, settings

from pdjax.config import HANDING_OVER, TransferPlan
from pdjax.events import Step, TransferEnded
from pdjax.schedule.cost import StepShape
from pdjax.schedule.policies import Composed
from pdjax.schedule.setup import placement_of, rule_of
from pdjax.simulate.cluster import cluster_of
from pdjax.simulate.stepcosts import step_costs_of
from tests.laws.cluster import (
  BLOCK_TOKENS,
  KINDS,
  configs,
  load_of,
  loads,
  run_config,
  serve_load,
  token_times,
)


class SingleSteps:
  """A rule that never asks for more than one step at a time."""

  def __init__(self, rule):
    self._rule = rule

  def batch(self, worker, world):
    for command in self._rule.batch(worker, world):
      if isinstance(command, Step):
        command = dataclasses.replace(command, repeats=1)
      yield command


def outcome(run, load, change=lambda rule: rule):
  rule, joins = rule_of(run, step_costs_of(run))
  policy = Composed(placement_of(run), change(rule), joins)
  log, world = serve_load(run, load, policy)
  fates = {
      p.id: (p.state, p.preemptions, p.recomputed_tokens)
      for p in world.progress.values()
  }
  return token_times(log), fates, len(log.of(Step))


@settings(max_examples=80, deadline=None)
@given(configs(), loads())
def test_runs_equal_single_steps(run, load):
  by_runs = outcome(run, load)
  by_steps = outcome(run, load, SingleSteps)
  assert by_runs[:2] == by_steps[:2]
  assert by_runs[2] <= by_steps[2]


def test_a_step_after_a_preemption_admits_again():
  """What a preempted request lacks may be little: the cache kept the rest."""
  run = run_config(
      "vllm_v1", "1C", kv_tokens=64, page_tokens=8, max_num_seqs=2,
      prefix_cache=True,
  )
  load = load_of((0, 38, 28), (0, 34, 21), (0, 24, 19))
  blocks = (6 * (0,), (0, 1), (0, 1, 1, 0, 0, 1, 1))
  load = dataclasses.replace(load, requests=tuple(
      dataclasses.replace(
          request, prefix_ids=ids, prefix_block_tokens=BLOCK_TOKENS
      )
      for request, ids in zip(load.requests, blocks, strict=True)
  ))
  by_runs, by_steps = outcome(run, load), outcome(run, load, SingleSteps)
  assert by_runs[:2] == by_steps[:2]
  assert any(preempted for _, preempted, _ in by_runs[1].values())


@pytest.mark.parametrize(
    "kv_tokens, max_num_seqs, rows",
    [
        (208, 2, [
            (1, 1), (122, 8), (1, 1), (1, 1), (1, 9), (1, 6), (69, 5), (1, 2),
        ]),
        (128, 5, [(1, 1)] * 10 + [(48, 6), (68, 7), (72, 2), (1, 2), (48, 2)]),
    ],
    ids=["behind one preempted", "behind one of another worker"],
)
def test_a_place_is_found_when_there_is_one(kv_tokens, max_num_seqs, rows):
  """And not at the next event, whatever that is about."""
  run = run_config(
      "layer by layer", "2P2D", kv_tokens=kv_tokens, reserve_pages=0,
      max_num_seqs=max_num_seqs, router="round_robin",
  )
  load = load_of(*((0, *row) for row in rows))
  assert outcome(run, load)[:2] == outcome(run, load, SingleSteps)[:2]


def test_runs_are_really_longer_than_a_step():
  run = run_config("continuous")
  load = load_of((0, 20, 40))
  assert outcome(run, load)[2] == 2  # a prefill and one run
  assert outcome(run, load, SingleSteps)[2] == 40


@pytest.mark.parametrize("kind", KINDS)
def test_one_request_alone_equals_the_closed_form(kind):
  run = run_config(kind, page_tokens=16)
  log, _ = serve_load(run, load_of((7, 100, 30)))
  cost = cluster_of(run).costs[0]
  lanes = cluster_of(run).lane_costs[0]
  prefill, decode = lanes[0], lanes[-1]
  chunks = [100]
  if run.strategy.chunk_size:
    chunks = [32, 32, 32, 4]
  at_ps, done = 7 * 10**6, 0
  plan = run.strategy.transfer or TransferPlan()
  if plan.granularity == "layers":
    return  # tests/simulate/test_stages.py
  size = cost.transfer_bytes(112)  # 7 pages of 16 tokens
  for chunk in chunks:
    if done and plan.granularity == "chunk":
      size = cost.transfer_bytes(32)
      at_ps += cost.gather_ps(size)  # before its worker's next step
      size = cost.transfer_bytes(16)  # of the last piece
    at_ps += prefill.step(StepShape(((chunk, done),)))[0].first_ps
    done += chunk
  expected = [at_ps]
  if run.strategy.kind in HANDING_OVER:
    at_ps += cost.gather_ps(size) + cost.scatter_ps(size)
    at_ps += cluster_of(run).links[0].transfer_ps(size)
    ended = log.of(TransferEnded)
    assert ended[-1].at_ps == at_ps and ended[-1].moved_bytes == size
    assert sum(e.moved_bytes for e in ended) == cost.transfer_bytes(112)
  for token in range(29):
    shape = StepShape((), 1, 101 + token)
    at_ps += decode.step(shape)[0].first_ps
    expected.append(at_ps)
  assert token_times(log)[0] == expected
