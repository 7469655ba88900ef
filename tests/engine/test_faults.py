"""Every fault in every state of a request, on real devices.

The cells and the words for their outcomes are those of the simulator
(`tests.laws.faultmatrix`). `serve_on` holds each run to laws 1, 2, 3 and 6;
whoever finishes has the tokens of an undisturbed run. One engine of two P and
two D workers is compiled for all.
"""

import dataclasses
import faulthandler

import pytest

from pdjax.engine import worker
from pdjax.engine.agreement import compare_answers
from pdjax.request import State
from tests.engine.engine_session import (
    check_tokens,
    engine_of,
    run_of,
    serve_on,
    workload,
)
from tests.laws.faultmatrix import (
    FAULTS,
    GIVEN_UP,
    LOSSES,
    RULES,
    Cell,
    Pace,
    StrikesWhenSeen,
    words,
)
from tests.laws.lifecycle import IN_STATE
from tests.laws.test_fault_matrix import outcome_of

PACE = Pace(
    pause_ps=10**9, away_ps=2 * 10**10, wait_s=0.1, backoff_s=0.002
)
RUN = run_of("2P2D", "disaggregated", chunk_size=16, share=True)
HANGS_S = 180
SEEN_IN = 12
"""Runs until somebody is in a state that depends on who is faster."""


@pytest.fixture(name="engine", scope="module")
def _engine():
  with engine_of(RUN) as backend:
    yield backend


@pytest.fixture(name="truth", scope="module")
def _truth(engine):
  """Everybody served to the end."""
  served = serve_on(engine, RUN)
  check_tokens(engine, workload())
  return served


@pytest.fixture(autouse=True)
def _no_hang():
  """Ends the session with all stacks instead of waiting for ever."""
  faulthandler.dump_traceback_later(HANGS_S, exit=True)
  yield
  faulthandler.cancel_dump_traceback_later()


def run_for(cell: Cell):
  """Pools and batches that bring the state about."""
  cluster, strategy = RUN.cluster, RUN.strategy
  if cell.tight:
    cluster = dataclasses.replace(cluster, kv_tokens=12 * 8, reserve_pages=0)
  if cell.state == "waiting":
    strategy = dataclasses.replace(strategy, max_num_seqs=1)
  return dataclasses.replace(RUN, cluster=cluster, strategy=strategy)


def served(engine, cell: Cell):
  plan = StrikesWhenSeen(cell, PACE)

  def watch(event, world):
    for each in world.workers:
      each.pool.check(list(each.held_pages()))

  result = serve_on(
      engine, run_for(cell), workload(gap_ps=0, requests=6),
      policy=lambda run: cell.policy(PACE), watch=watch, plan=plan,
  )
  return plan, result


def check_answers(result, truth, damaged=()):
  """Whoever finished has the whole answer; others the beginning of it."""
  for id, progress in result.world.progress.items():
    given, count = result.tokens[id], progress.generated_tokens
    assert len(given) == count
    if progress.state is State.FINISHED:
      assert count == len(truth.tokens[id])
    if id not in damaged:
      whole = (truth.tokens[id][:count], truth.gaps[id][:count])
      assert compare_answers((given, result.gaps[id]), whole).holds, id


LATE = {
    # A worker is lost when it has stopped: until then work may still reach it,
    "not routed": {"finished, queued again", "finished, computed again"},
    "reserved at its target": {"finished, sent again"},
    # and what had been asked of it before is still done.
    "in transfer": {"finished", "finished, computed again"},
}
"""What else may come of the loss of a worker, by the state it is seen in."""


def allowed(cell: Cell) -> set[str]:
  """The simulator's outcome, and what a moment's delay may make of it."""
  outcomes = {outcome_of(cell)}
  if cell.fault in LOSSES and outcomes != {"–"}:
    outcomes |= LATE.get(cell.state, set())
    if cell.rule == "fail":
      outcomes.add("failed")
  if cell.fault in GIVEN_UP:
    outcomes.add("finished")  # by the step in flight
  return outcomes


def check_cell(engine, truth, cell: Cell, monkeypatch):
  if not cell.verify:  # compiled in; what it finds is not looked at
    monkeypatch.setattr(worker, "mismatch", lambda *sums: "")
  for _ in range(SEEN_IN):
    plan, result = served(engine, cell)
    if plan.victim is not None:
      break
  else:
    pytest.skip(f"{cell.state}: nobody was, in {SEEN_IN} runs; these kept laws")
  outcome = words(plan, result.log, result.world)
  assert outcome in allowed(cell), cell
  damaged = {plan.victim} if outcome == "finished with damaged pages" else set()
  check_answers(result, truth, damaged)
  for id in damaged:
    assert result.tokens[id] != truth.tokens[id]
  others = {
      p.state for p in result.world.progress.values() if p.id != plan.victim
  }
  hit = cell.fault in LOSSES and (cell.rule == "fail" or "every" in cell.fault)
  assert others <= {State.FINISHED} | ({State.FAILED} if hit else set())


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("state", IN_STATE)
def test_every_fault_in_every_state(engine, truth, fault, state, monkeypatch):
  """Each pair once, the recovery rules by turns."""
  turn = FAULTS.index(fault) + list(IN_STATE).index(state)
  rule = RULES[turn % len(RULES)]
  check_cell(engine, truth, Cell(fault, state, rule), monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_rule_too(engine, truth, fault, rule, monkeypatch):
  for state in IN_STATE:
    check_cell(engine, truth, Cell(fault, state, rule), monkeypatch)
