"""Laws 1, 2, 3, 6 and 7 under faults of every kind, drawn at random."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings

from pdjax.config import Fault, Faults, TransferPlan, roles_of
from pdjax.events import (
  Displaced,
  Fail,
  Restart,
  TransferEnded,
  WorkerLost,
)
from pdjax.metrics.breakdown import PARTS
from pdjax.metrics.requests import table_of
from pdjax.metrics.summary import summarize
from pdjax.schedule.loop import OutOfTime
from pdjax.schedule.policies import Composed
from pdjax.schedule.replay import replay
from pdjax.schedule.setup import placement_of, rule_of
from pdjax.simulate.stepcosts import policy_for, step_costs_of
from tests.laws.cluster import (
  COLOCATED,
  KINDS,
  beset,
  configs,
  faults,
  load_of,
  loads,
  run_config,
  serve_load,
  token_times,
  world_for,
)
from tests.laws.test_conservation import check_end, check_pools
from tests.laws.test_runs import SingleSteps


@settings(max_examples=80, deadline=None)
@given(configs(), loads(max_size=12), faults())
def test_nothing_is_lost_whatever_goes_wrong(run, load, hits):
  run = beset(run, hits)
  log, world = serve_load(run, load, watch=check_pools)
  check_end(world, load)
  times = [at_ps for at_ps, _ in log]
  assert times == sorted(times)
  result = replay(log, policy_for(run), world_for(run))
  assert result.identical == result.commands, result.difference
  check_metrics(log, run)


def check_metrics(log, run):
  """A request's parts sum to its latency, a worker's states to the run."""
  table = table_of(log, run)
  time = table.attribution.time
  states_ns = np.array(list(time.state_ns.values()))
  assert (states_ns.sum(axis=0) == time.span_ns).all()
  assert (states_ns >= 0).all()
  restarts = len(log.of(Displaced, Restart))
  assert table["restarts"].sum() == restarts
  summary = summarize(table, run)
  assert summary["workers_lost"] == len(log.of(WorkerLost))
  done = table.finished
  total = sum(np.asarray(table[f"{part}_ns"]) for part in PARTS)
  assert (total[done] == np.asarray(table["e2el_ns"])[done]).all()
  slowly = token_times(log)
  for row, id in enumerate(table["request"]):
    if done[row]:
      assert table["output_tokens"][row] == len(slowly[id])


def outcome(run, load, change=lambda rule: rule):
  rule, joins = rule_of(run, step_costs_of(run))
  policy = Composed(placement_of(run), change(rule), joins)
  log, world = serve_load(run, load, policy)
  fates = {
      p.id: (p.state, p.preemptions, p.losses, p.recomputed_tokens)
      for p in world.progress.values()
  }
  return token_times(log), fates


@settings(max_examples=40, deadline=None)
@given(configs(), loads(max_size=12), faults())
def test_runs_equal_single_steps_though_workers_are_lost(run, load, hits):
  """But for faults that wait for a state: which one is seen between two events
  depends on how many events there are."""
  events = tuple(fault for fault in hits.events if fault.state is None)
  run = beset(run, dataclasses.replace(hits, events=events))
  assert outcome(run, load) == outcome(run, load, SingleSteps)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("roles", ["P", "D", "PDC"])
def test_nobody_waits_for_ever_for_workers_that_stay_away(kind, roles):
  run = run_config(kind, None if kind in COLOCATED else "2P2D")
  lost = tuple(
      Fault(kind="worker_lost", worker=worker, at_s=0.02)
      for worker, role in enumerate(roles_of(run)) if role in roles
  )
  load = load_of(*((i * 9000, 30 + 5 * i, 20) for i in range(8)))
  hits = Faults(events=lost, wait_s=0.3)
  log, world = serve_load(dataclasses.replace(run, faults=hits), load)
  check_end(world, load)
  failed = {command.reason for command in log.of(Fail)}
  assert bool(failed) == bool(lost)
  assert all("0.3 s" in reason for reason in failed)


def test_who_lacks_a_decode_worker_waits_no_longer_for_losing_its_queue():
  """Prefill workers that come and go do not begin its wait again."""
  gone = Fault(kind="worker_lost", at_s=0.0001, worker=1)
  going = tuple(
      Fault(kind="worker_lost", at_s=0.03 * i, worker=0, down_s=0.005)
      for i in range(1, 30)
  )
  run = run_config(
      "disaggregated", "1P1D", kv_tokens=2000,
      transfer=TransferPlan(reserve_at="prompt_start"),
  )
  run = beset(run, Faults(events=(gone, *going), wait_s=0.3))
  log, _ = serve_load(run, load_of((1000, 40, 20)))
  ((at_ps, failed),) = ((t, e) for t, e in log if isinstance(e, Fail))
  assert failed.reason == "no D worker for 0.3 s"
  assert 0.3e12 < at_ps < 0.34e12


def test_nobody_waits_no_time_for_a_worker():
  lost = (Fault(kind="worker_lost", worker=1, at_s=0.02),)
  hits = Faults(events=lost, wait_s=1e-300)
  run = dataclasses.replace(run_config("disaggregated", None), faults=hits)
  load = load_of(*((i * 9000, 30, 20) for i in range(8)))
  log, world = serve_load(run, load)
  check_end(world, load)
  assert log.of(Fail)


def test_pauses_that_double_end_with_the_log():
  hits = Faults(drop_share=1.0, retries=1000, backoff_s=1.0)
  run = dataclasses.replace(run_config("disaggregated", None), faults=hits)
  load = load_of((0, 30, 20))
  log, world = serve_load(run, load)
  check_end(world, load)
  (failed,) = log.of(Fail)
  assert "no log is as long as its next pause" in failed.reason
  assert 15 < len(log.of(TransferEnded)) < 30


def test_a_run_beyond_any_log_ends_in_a_line():
  slow = Faults(slow_share=1.0, slow_factor=1e6)
  run = dataclasses.replace(run_config("disaggregated", None), faults=slow)
  link = dataclasses.replace(run.cluster.link, bandwidth_bytes_per_s=1e6)
  cluster = dataclasses.replace(run.cluster, link=link)
  with pytest.raises(OutOfTime, match="106 days of a log, 1 requests unfin"):
    serve_load(
        dataclasses.replace(run, cluster=cluster), load_of((0, 100, 20))
    )


@pytest.mark.parametrize("late", range(1, 8))
def test_who_ended_before_the_loss_of_its_worker_has_ended(late):
  """A step was dispatched ahead of its last token, and lost with the worker;
  its client hears of the token, and cancels no more."""
  run = run_config("continuous", dispatch_ahead=1)
  load = load_of((0, 40, 12), (0, 40, 60))
  early, other = load.requests
  early = dataclasses.replace(early, max_tokens=30)
  load = dataclasses.replace(load, requests=(early, other))
  log, _ = serve_load(run, load)
  ends = sorted(token_times(log)[0])[-1]
  step_ps = ends - sorted(token_times(log)[0])[-2]
  lost_ps = ends + late * step_ps // 8
  hit = Fault(kind="worker_lost", worker=0, at_s=lost_ps / 1e12, down_s=0.01)
  load = dataclasses.replace(load, cancel_after_ps={0: lost_ps + step_ps})
  run = dataclasses.replace(run, faults=Faults(events=(hit,)))
  log, world = serve_load(run, load)
  check_end(world, load)
  assert max(token_times(log)[0]) == ends
