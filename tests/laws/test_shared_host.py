"""Law 7 where beginnings cost and workers of one host slow each other."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings

from pdjax.events import Step, StepEnded, TransferEnded, TransferProgressed
from pdjax.faults import plan_of
from pdjax.request import ENDED
from pdjax.schedule.loop import serve
from pdjax.schedule.policies import Composed
from pdjax.schedule.setup import placement_of, rule_of, world_of
from pdjax.segments import elapsed_ps
from pdjax.simulate.backend import SimulatedBackend
from pdjax.simulate.cluster import cluster_of
from pdjax.simulate.fittedcost import FittedCost
from pdjax.simulate.hostshare import SharedBackend
from pdjax.simulate.sharing import Sharing
from pdjax.simulate.stepcosts import step_costs_of
from tests.calibrate.test_calibration import MADE_BY, made
from tests.laws.cluster import (
  beset,
  configs,
  faults,
  load_of,
  loads,
  run_config,
  serve_load,
  token_times,
)
from tests.laws.test_runs import SingleSteps

COST = FittedCost(
    fixed_ps=3_000_000_007,
    begin_ps=1_900_000_011,
    rest_ps=23_003,
    chunk_ps=700_000_003,
    prompt_token_ps=90_000_019,
    prompt_pair_ps=20_011,
    decode_ps=110_000_017,
    context_token_ps=1_500_007,
    copy_ps_per_byte=0.07,
    kv_bytes_per_token=524_288,
    sharing=Sharing(
        prompts=(
            1_854_000_013, 1_174_000_003, 0, 432_000_011, 55_000_009, 12_007,
            67_000_003, 927_001,
        ),
        decodes=(
            815_000_003, 516_000_019, 0, 0, 24_000_001, 5_003, 29_900_011,
            407_003,
        ),
    ),
)


def shared(cost):
  """A backend of workers on one host."""
  return lambda *args, **settings: SharedBackend(
      *args, fitted=[cost] * len(args[2]), **settings
  )


def outcome(
    run, load, change=lambda rule: rule, cost=COST, backend_of=None
):
  cluster = cluster_of(run)
  backend = (backend_of or shared(cost))(
      load.clients(), load.output_tokens, [cost] * len(cluster.costs),
      cluster.links, num_layers=32,
      plan=plan_of(run.faults, len(cluster.costs)),
  )
  rule, joins = rule_of(run, step_costs_of(run))
  policy = Composed(placement_of(run), change(rule), joins)
  world = world_of(run, cluster.pool_pages, cluster.staging_pages)
  log = serve(policy, backend, world)
  fates = {
      p.id: (p.state, p.preemptions, p.recomputed_tokens)
      for p in world.progress.values()
  }
  return token_times(log), fates, log


def one_lane(run):
  return run.strategy.kind != "lanes"


def without_cache(run):
  strategy = dataclasses.replace(run.strategy, prefix_cache=False)
  return dataclasses.replace(run, strategy=strategy)


@settings(max_examples=120, deadline=None)
@given(configs().filter(one_lane).map(without_cache), loads())
def test_runs_equal_single_steps(run, load):
  by_runs = outcome(run, load)
  by_steps = outcome(run, load, SingleSteps)
  assert by_runs[:2] == by_steps[:2]
  assert len(by_runs[2].of(Step)) <= len(by_steps[2].of(Step))


@settings(max_examples=60, deadline=None)
@given(configs().filter(one_lane), loads(), faults())
def test_who_loses_nothing_to_others_might_as_well_be_alone(run, load, hits):
  """Also while workers are lost and transfers fail."""
  run, alone = beset(run, hits), dataclasses.replace(
      COST, sharing=Sharing(), begin_ps=0, rest_ps=0
  )
  plain, on_one_host = (
      outcome(run, load, cost=alone, backend_of=backend_of)
      for backend_of in (SimulatedBackend, None)
  )
  assert list(plain[2]) == list(on_one_host[2])


@settings(max_examples=60, deadline=None)
@given(configs().filter(one_lane), loads(), faults())
def test_workers_of_a_host_are_lost_and_come_back(run, load, hits):
  """Everyone meets an end, and it is the same end each time."""
  run = beset(run, hits)
  first, second = outcome(run, load), outcome(run, load)
  assert list(first[2]) == list(second[2])
  assert all(state in ENDED for state, *_ in first[1].values())


def test_a_run_pays_once_for_beginning():
  run, load = run_config("continuous"), load_of((0, 20, 40))
  gaps = np.diff(outcome(run, load)[0][0])
  slope = COST.context_token_ps
  assert gaps[0] - gaps[1] == COST.begin_ps - slope
  assert {*np.diff(gaps[1:])} == {slope}


def test_a_rest_of_the_host_is_paid_for_once_and_not_beside_others():
  cost = dataclasses.replace(
      COST, fixed_ps=0, begin_ps=0, chunk_ps=10**11, prompt_token_ps=0,
      prompt_pair_ps=0, rest_ps=10**6, sharing=Sharing(),
  )
  load = load_of(
      (30_000, 9, 1), (170_000, 9, 1), (175_000, 9, 1), (10**6, 9, 1)
  )
  ms = 10**9
  took = [at - began for _, began, at in ends("2C", load, cost)]
  # Rested for 30 ms, for none beside another, for 10, and for over 50.
  assert took == [130 * ms, 100 * ms, 110 * ms, 150 * ms]


def ends(split, load, cost):
  run = run_config("continuous", split, kv_tokens=2000)
  _, _, log = outcome(run, load, cost=cost)
  return [(e.worker, e.started_ps, e.at_ps) for e in log.of(StepEnded)]


def test_a_prefill_half_of_which_is_beside_another_by_hand():
  """Alone 100 ms; from 40 ms on beside one that begins then, at half speed."""
  cost = dataclasses.replace(
      COST, fixed_ps=0, begin_ps=0, rest_ps=0, chunk_ps=10**11,
      prompt_token_ps=0, prompt_pair_ps=0,
      sharing=Sharing(prompts=(0, 0, 0, 10**11, 0, 0, 0, 0)),
  )
  load = load_of((0, 20, 1), (40_000, 20, 1))
  # By 160 ms the first has done 40 + 120 / 2, the second 60 of 100; the second
  # then goes on alone.
  ms = 10**9
  assert ends("2C", load, cost) == [(0, 0, 160 * ms), (1, 40 * ms, 200 * ms)]
  alone = dataclasses.replace(cost, sharing=Sharing())
  assert ends("2C", load, alone) == [(0, 0, 100 * ms), (1, 40 * ms, 140 * ms)]


def test_pages_are_copied_when_the_step_before_them_is_over():
  """Also where that step got longer after they had arrived."""
  cost = dataclasses.replace(COST, scatter_fixed_ps=5 * 10**8)
  run = run_config("disaggregated", kv_tokens=2000)
  rows = ((i * 17_000, 10 + 17 * i % 50, 30 + i) for i in range(12))
  _, _, log = outcome(run, load_of(*rows), cost=cost)
  boundaries_ps = {
      end.started_ps + elapsed_ps(end.segments, step + 1)
      for end in log.of(StepEnded) if end.worker for step in range(end.steps)
  }
  sent_ps = {
      one.transfer: one.at_ps for one in log.of(TransferProgressed)
      if one.stage == "sent"
  }
  begins_ps, waited = set(boundaries_ps), 0
  for one in log.of(TransferEnded):
    began_ps = one.at_ps - cost.scatter_ps(one.moved_bytes)
    assert began_ps == sent_ps[one.transfer] or began_ps in begins_ps
    waited += began_ps != sent_ps[one.transfer]
    begins_ps.add(one.at_ps)  # for who waits in line
  assert waited > 3


def test_who_is_never_beside_another_takes_the_time_of_one_alone():
  load = load_of((0, 20, 8), (900_000, 30, 9))
  alone = dataclasses.replace(COST, sharing=Sharing())
  assert ends("2C", load, COST) == ends("2C", load, alone)


def test_a_calibrated_cluster_is_one_host(tmp_path):
  """`backend.costs` of a file in which workers lose to each other."""
  path = tmp_path / "mine.json"
  slowest_ps = []
  for share in (0.0, 0.9):
    by = MADE_BY | {"dtype": "bfloat16"}
    tree = made(model="llama-2-7b", made_by=by)
    rises = {name: share * price for name, price in tree["prices"].items()}
    tree |= {"sharing": {"prompts": rises, "decodes": rises}}
    path.write_text(json.dumps(tree))
    run = run_config("continuous", "2C", kv_tokens=2000)
    backend = dataclasses.replace(run.backend, costs=str(path))
    log, _ = serve_load(
        dataclasses.replace(run, backend=backend),
        load_of((0, 20, 40), (1, 20, 40)),
    )
    slowest_ps.append(max(end.at_ps for end in log.of(StepEnded)))
  assert slowest_ps[1] > 1.5 * slowest_ps[0]


def test_nobody_is_quicker_beside_others():
  with pytest.raises(ValueError, match="nobody is quicker"):
    Sharing(decodes=(0, -1))
