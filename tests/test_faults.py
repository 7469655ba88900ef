"""The plan of faults, and what of a config's `faults` is refused."""

import dataclasses

import pytest

from pdjax import checks, reads, schema
from pdjax.config import Fault, Faults
from pdjax.events import Cancelled, WorkerBack, WorkerLost
from pdjax.faults import FaultPlan, Harm, plan_of
from pdjax.metrics.conditions import comparable, conditions
from pdjax.request import Progress, Request, State
from tests.laws.cluster import beset, load_of, run_config, serve_load

S = 10**12


def asked(id, state=State.DECODE, worker=1):
  request = Request(id=id, arrival_ps=0, prompt_tokens=1, max_tokens=1)
  return Progress(request, state=state, worker=worker)


def test_no_plan_without_a_fault():
  assert plan_of(Faults(), 2) is None
  assert plan_of(Faults(drop_share=0.1), 2) is not None


def test_what_is_done_to_a_transfer_depends_on_its_request_alone():
  hits = Faults(drop_share=0.3, slow_share=0.3, seed=4)
  one, other = FaultPlan(hits, 2), FaultPlan(hits, 2)
  forward = {id: one.of_transfer(id, 0) for id in range(40)}
  backward = {id: other.of_transfer(id, 7) for id in reversed(range(40))}
  assert forward == backward
  kinds = {harm.kind if harm else None for harm in forward.values()}
  assert kinds == {None, "dropped", "slowed"}
  again = {id: one.of_transfer(id, 0) for id in range(40)}
  assert again != forward


def test_shares_are_kept():
  plan = FaultPlan(Faults(drop_share=0.2, delay_share=0.1), 1)
  harms = [plan.of_transfer(id, 0) for id in range(5000)]
  dropped = sum(h is not None and h.kind == "dropped" for h in harms)
  delayed = sum(h is not None and h.kind == "delayed" for h in harms)
  assert 900 < dropped < 1100 and 430 < delayed < 570  # 4 sigma


def test_faults_of_transfers_one_by_one():
  events = (
      Fault(kind="transfer_slowed", request=3, times=2),
      Fault(kind="transfer_dropped", at_s=1.0),
  )
  plan = FaultPlan(Faults(events=events, slow_factor=5.0), 1)
  assert plan.of_transfer(0, 0) is None
  slowed = Harm("slowed", factor=5.0)
  assert [plan.of_transfer(3, 0) for _ in range(3)] == [slowed, slowed, None]
  assert plan.of_transfer(0, S) == Harm("dropped")
  assert plan.of_transfer(0, S) is None


def test_a_worker_is_lost_once_and_comes_back():
  lost = Fault(kind="worker_lost", worker=1, at_s=1.0, down_s=2.0)
  plan = FaultPlan(Faults(events=(lost, lost)), 2)
  assert plan.due_ps == S and plan.losing(S) == [1, 1]
  assert plan.take({}, S) == WorkerLost(S, 1)
  assert plan.losing(S) == []
  assert plan.take({}, S) is None  # it is lost already
  assert plan.due_ps == 3 * S
  assert plan.take({}, 3 * S) == WorkerBack(3 * S, 1)
  assert plan.due_ps is None


def test_losses_are_drawn_for_each_worker_by_itself():
  hits = Faults(worker_up_s=1.0, worker_down_s=0.1)

  def first(workers):
    plan = FaultPlan(hits, workers)
    times = {}
    while len(times) < workers:
      at_ps = plan.due_ps
      event = plan.take({}, at_ps)
      if isinstance(event, WorkerLost):
        times.setdefault(event.worker, at_ps)
    return times

  two, three = first(2), first(3)
  assert two.items() <= three.items() and len(set(three.values())) == 3


def test_workers_that_are_lost_without_an_end_are_told():
  """A step takes thousands of the microseconds that a worker is up."""
  hits = Faults(worker_up_s=1e-6, worker_down_s=1e-6)
  run = beset(run_config("continuous", "2C"), hits)
  load = load_of(*((index * 10**6, 100, 20) for index in range(30)))
  with pytest.raises(schema.ConfigError) as told:
    serve_load(run, load)
  (line,) = told.value.errors
  assert line.startswith("faults.worker_up_s: workers were lost 100000 times")
  assert line.endswith("they are 1e-06 s and 1e-06 s in the mean")


def test_a_fault_waits_for_its_state():
  events = (
      Fault(kind="cancelled", request=3, state="decode"),
      Fault(kind="worker_lost", request=4, state="transfer"),
      Fault(kind="worker_lost", request=5, state="transfer", worker=0),
  )
  plan = FaultPlan(Faults(events=events), 2)
  plan.look({3: asked(3, State.PREFILL)}, 5)
  assert plan.due_ps is None
  plan.look({3: asked(3)}, 6)
  assert plan.due_ps == 6
  assert plan.take({3: asked(3)}, 6) == Cancelled(6, 3)
  moving = {4: asked(4, State.TRANSFER), 5: asked(5, State.TRANSFER)}
  plan.look(moving, 7)
  assert plan.take(moving, 7) == WorkerLost(7, 1)
  assert plan.take(moving, 7) == WorkerLost(7, 0)


def test_who_has_ended_is_not_cancelled():
  fault = Fault(kind="cancelled", request=3, at_s=1.0)
  plan = FaultPlan(Faults(events=(fault,)), 2)
  assert plan.take({3: asked(3, State.FINISHED)}, S) is None


CHIP = {"chip": "h100-sxm"}
SPLIT = {
    "cluster": CHIP | {"split": "1P1D"}, "strategy": {"kind": "disaggregated"},
}
COLOCATED = {"cluster": CHIP}


def lines_of(base, **hits):
  run = schema.run_from_tree(base | {"faults": hits})
  return checks.mistakes(run, checks.CHECKS)


def event(**fields):
  return {"events": (fields,)}


@pytest.mark.parametrize(
    ("base", "hits", "line"),
    [
        (SPLIT, {"drop_share": 1.5},
         "faults.drop_share: must be from 0 to 1, got 1.5"),
        (SPLIT, {"drop_share": 0.7, "slow_share": 0.7},
         "faults.drop_share: the shares of drop, delay, corrupt and slow sum"
         " to 1.4; a transfer meets one at most, so at most 1"),
        (SPLIT, event(kind="worker_lost", worker=2, at_s=1.0),
         "faults.events[0].worker: there is no worker 2; allowed: 0 to 1"),
        (SPLIT, event(kind="worker_lost", at_s=1.0),
         "faults.events[0].worker: say which is lost at that time"),
        (SPLIT, event(kind="worker_lost", worker=0),
         "faults.events[0]: worker_lost needs at_s or state, one of them"),
        (SPLIT, event(kind="worker_lost", state="decode"),
         "faults.events[0].request: say whose state it is"),
        (SPLIT, event(kind="cancelled", at_s=1.0),
         "faults.events[0].request: say whose; cancelled is of a request"),
        (SPLIT, event(kind="cancelled", at_s=1.0, request=100),
         "faults.events[0].request: there is no request 100; allowed: 0 to 99"),
        (SPLIT, event(kind="cancelled", at_s=1.0, request=1, down_s=1.0),
         "faults.events[0].down_s: cancelled does not use it"),
        (SPLIT, event(kind="transfer_dropped"),
         "faults.events[0]: transfer_dropped needs at_s or request, one of"
         " them"),
        (SPLIT, event(kind="transfer_dropped", request=1, state="decode"),
         "faults.events[0].state: transfer_dropped does not use it"),
        (COLOCATED, event(kind="transfer_dropped", request=1),
         "faults.events[0].kind: continuous has no transfers"),
        (COLOCATED, event(kind="cancelled", request=1, state="handoff"),
         "faults.events[0].state: no request is in 'handoff' with"
         " continuous"),
    ],
)
def test_what_cannot_be_is_one_line(base, hits, line):
  assert lines_of(base, **hits) == [line]


def test_a_mistyped_name_is_told():
  with pytest.raises(schema.ConfigError, match="did you mean 'drop_share'"):
    schema.run_from_tree({"faults": {"drop_shar": 0.1}})
  with pytest.raises(schema.ConfigError, match="worker_lost"):
    schema.run_from_tree({"faults": event(kind="worker_lst")})


@pytest.mark.parametrize(
    ("base", "hits", "unread"),
    [
        (SPLIT, {"seed": 3}, {"seed"}),
        (SPLIT, {"seed": 3, "drop_share": 0.1}, set()),
        (COLOCATED, {"drop_share": 0.1}, {"drop_share"}),
        (SPLIT, {"recovery": "fail"}, {"recovery"}),
        (SPLIT, {"recovery": "fail", "drop_share": 0.1}, set()),
        (SPLIT, {"recovery": "fail", "retries": 3, "drop_share": 0.1},
         {"retries"}),
        (SPLIT, {"recovery": "recompute", "backoff_s": 1.0,
                 "drop_share": 0.1}, {"backoff_s"}),
        (SPLIT, {"wait_s": 1.0, "drop_share": 0.1}, {"wait_s"}),
        (COLOCATED, {"worker_up_s": 1.0, "worker_down_s": 1.0, "wait_s": 1.0,
                     "retries": 4}, set()),
        (SPLIT, {"delay_s": 1.0, "slow_factor": 2.0},
         {"delay_s", "slow_factor"}),
        (SPLIT, {"worker_down_s": 1.0}, {"worker_down_s"}),
    ],
)
def test_what_is_said_in_vain(base, hits, unread):
  tree = base | {"faults": hits}
  vain = reads.vain(schema.run_from_tree(tree), schema.said(tree))
  assert vain.keys() == {f"faults.{name}" for name in unread}


def test_runs_with_other_faults_have_another_contract():
  run = reads.resolved(schema.run_from_tree(SPLIT))
  broken = dataclasses.replace(run, faults=Faults(drop_share=0.1))
  given_up = Faults(drop_share=0.1, recovery="fail")
  failing = dataclasses.replace(run, faults=given_up)
  one, other, third = (
      conditions(each, {}) for each in (run, broken, failing)
  )
  assert comparable(one, other) == ["faults"]
  assert one["contract"]["faults"] is None
  assert comparable(other, third) == []  # what is done about it is compared
  assert third["design"]["recovery"]["recovery"] == "fail"
