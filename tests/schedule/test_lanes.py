"""Two lanes: both phases at once, one pool, shares that are real."""

import dataclasses

import pytest

from pdjax.config import ConfigError, LaneShares
from pdjax.events import Preempt, Step, StepEnded
from pdjax.metrics.requests import request_table
from pdjax.schedule.lanes import DECODE, PREFILL
from pdjax.simulate.cluster import cluster_of
from tests.laws.cluster import load_of, run_config, serve_load, token_times

ONE_ANSWERS_OTHERS_COME = [(0, 20, 200)] + [
    (40_000 * i, 140, 2) for i in range(1, 20)
]
"""The first decodes all the while that long prompts arrive."""


def lanes(**settings):
  return run_config("lanes", kv_tokens=2000, **settings)


def log_of(run, rows, watch=None):
  log, world = serve_load(run, load_of(*rows), watch=watch)
  assert world.unfinished == 0
  return log


def test_each_phase_keeps_to_its_lane():
  for step in log_of(lanes(), ONE_ANSWERS_OTHERS_COME).of(Step):
    assert step.lane == (PREFILL if step.prefill else DECODE)
    assert not (step.prefill and step.decode)


def test_prompts_hold_no_decode_up():
  """Colocated, a gap grows by the prompt's step; in lanes never by that."""
  gaps_ps = {}
  for kind in ("continuous", "lanes"):
    run = run_config(kind, kv_tokens=2000)
    times = token_times(log_of(run, ONE_ANSWERS_OTHERS_COME))[0]
    gaps = [b - a for a, b in zip(times, times[1:], strict=False)]
    gaps_ps[kind] = min(gaps), max(gaps)
  shortest, longest = gaps_ps["continuous"]
  assert longest > 1.5 * shortest
  shortest, longest = gaps_ps["lanes"]
  assert longest < 1.2 * shortest


def test_lanes_work_at_the_same_time():
  spans = {PREFILL: [], DECODE: []}
  for end in log_of(lanes(), ONE_ANSWERS_OTHERS_COME).of(StepEnded):
    spans[end.lane].append((end.started_ps, end.at_ps))
  for begin, end in spans[PREFILL][1:]:
    assert any(b < end and begin < e for b, e in spans[DECODE])
  for of_lane in spans.values():
    assert all(a[1] <= b[0] for a, b in zip(of_lane, of_lane[1:], strict=False))


def test_a_finished_prompt_joins_after_the_step_in_flight():
  """The run before it is cut short: it decodes one step time later at most."""
  run = lanes()
  times = token_times(log_of(run, ONE_ANSWERS_OTHERS_COME))
  longest_ps = max(b - a for a, b in zip(times[0], times[0][1:], strict=False))
  for request in range(1, 20):
    first, second = times[request]
    assert second - first <= 2 * longest_ps


def test_each_lane_has_its_share():
  """Compute-bound prefills follow the arithmetic, decodes the bandwidth."""
  run = lanes(lanes=LaneShares(prefill_compute=0.5, prefill_bandwidth=0.2))
  cluster = cluster_of(run)
  whole, (prefill, decode) = cluster.costs[0], cluster.lane_costs[0]
  for lane, compute, bandwidth in ((prefill, 0.5, 0.2), (decode, 0.5, 0.8)):
    assert lane.peak_flops == compute * whole.peak_flops
    assert lane.peak_bytes_per_s == pytest.approx(
        bandwidth * whole.peak_bytes_per_s
    )
    assert lane.chip.compute_units == 54 and lane.spec is whole.spec
  # Memory is one: lanes have the pages that a whole worker has.
  alone = dataclasses.replace(run.cluster, kv_tokens=None)
  pages = [
      cluster_of(dataclasses.replace(each, cluster=alone)).pool_pages
      for each in (run, run_config("continuous"))
  ]
  assert pages[0] == pages[1]


def test_a_larger_share_makes_its_phase_faster():
  def figures(compute, bandwidth):
    shares = LaneShares(
        prefill_compute=compute, prefill_bandwidth=bandwidth
    )
    log = log_of(lanes(lanes=shares), ONE_ANSWERS_OTHERS_COME)
    table = request_table(log)
    return table.sample("ttft").mean(), table.sample("tpot").mean()

  ttft, tpot = figures(0.5, 0.3)
  more_bandwidth = figures(0.5, 0.5)
  assert more_bandwidth[0] <= ttft and more_bandwidth[1] > 1.2 * tpot
  less_compute = figures(0.2, 0.3)
  assert less_compute[0] > 1.2 * ttft


def test_nobody_in_a_step_is_preempted():
  """Pools so small that decodes run out of pages beside prefills."""
  run = run_config("lanes", kv_tokens=256, reserve_pages=0)
  rows = [(i * 3_000, 60, 40) for i in range(20)]

  def watch(event, world):
    for worker in world.workers:
      for lane in worker.runs:
        for progress in (*lane.decodes, *lane.prompts) if lane else ():
          assert worker.id in progress.pages

  assert log_of(run, rows, watch).of(Preempt)


def test_chunks_fill_the_prefill_lane_alone():
  run = run_config("lanes, chunked", kv_tokens=2000)
  for step in log_of(run, ONE_ANSWERS_OTHERS_COME).of(Step):
    assert sum(tokens for _, tokens in step.prefill) <= 32


def test_a_systolic_array_is_not_shared_out():
  run = lanes()
  on_tpu = dataclasses.replace(run.cluster, chip="tpu-v5p")
  with pytest.raises(ConfigError, match="no multiprocessors"):
    cluster_of(dataclasses.replace(run, cluster=on_tpu))


def test_a_policy_of_ones_own_may_use_two_lanes():
  run = run_config(
      "pdjax.schedule.lanes:Lanes", "1C", kv_tokens=2000, lanes=LaneShares(),
      max_num_batched_tokens=None,
  )
  own, built_in = (log_of(each, ONE_ANSWERS_OTHERS_COME)
                   for each in (run, lanes(max_num_batched_tokens=None)))
  assert token_times(own) == token_times(built_in)
