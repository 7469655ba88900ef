"""Requests given up on real devices: in every state, by clients and deadlines.

`serve_on` holds each run to laws 1, 2, 3 and 6. One engine of three workers is
compiled for all.
"""

import dataclasses
import itertools
import threading

import pytest

from pdjax import events
from pdjax.engine.agreement import compare_answers
from pdjax.request import State
from pdjax.workload.workload import Workload
from tests.engine.engine_session import (
    check_tokens,
    engine_of,
    run_of,
    serve_on,
    workload,
)
from tests.laws.lifecycle import IN_STATE, GivesUp, policy_for

PAUSE_PS = 500_000_000
RUN = run_of("1P1D1C", "disaggregated", chunk_size=16, share=True)
TIGHT = dataclasses.replace(RUN, cluster=dataclasses.replace(
    RUN.cluster, kv_tokens=13 * 8, reserve_pages=0
))


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


def check_answers(served, truth):
  """Whoever finished has the whole answer; others the beginning of it."""
  for id, progress in served.world.progress.items():
    given, count = served.tokens[id], progress.generated_tokens
    assert len(given) == count
    if progress.state is State.FINISHED:
      assert count == len(truth.tokens[id])
    whole = (truth.tokens[id][:count], truth.gaps[id][:count])
    assert compare_answers((given, served.gaps[id]), whole).holds


@pytest.mark.parametrize("kind", [events.Cancelled, events.Deadline])
@pytest.mark.parametrize("state", IN_STATE)
def test_given_up_in_every_state(engine, truth, state, kind, monkeypatch):
  case = IN_STATE[state]

  def watch(event, world):
    for worker in world.workers:
      worker.pool.check(list(worker.held_pages()))
    give_up(event, world)

  load = workload(gap_ps=0)
  give_up = GivesUp(load.clients(), case, kind)
  monkeypatch.setattr(Workload, "clients", lambda self: give_up)
  served = serve_on(
      engine, TIGHT if case.tight else RUN, load,
      policy=lambda run: policy_for(case, PAUSE_PS), watch=watch,
  )
  assert give_up.told
  fate = State.ABORTED if kind is events.Cancelled else State.FAILED
  states = [served.world.progress[id].state for id in give_up.told]
  assert fate in states and set(states) <= {fate, State.FINISHED}
  check_answers(served, truth)


def test_clients_and_deadlines_of_the_workload(engine, truth):
  """Cancelled while it decodes, late while it waits, and neither in time."""
  load = workload(gap_ps=0)
  late = dataclasses.replace(load.requests[3], deadline_ps=1)
  patient = dataclasses.replace(load.requests[4], deadline_ps=10**15)
  load = dataclasses.replace(
      load,
      requests=(*load.requests[:3], late, patient, *load.requests[5:]),
      cancel_after_ps={0: 2, 1: 10**15},
  )
  served = serve_on(engine, RUN, load)
  states = {id: p.state for id, p in served.world.progress.items()}
  assert states.pop(0) is State.ABORTED and states.pop(3) is State.FAILED
  assert set(states.values()) == {State.FINISHED}
  assert [e.request for e in served.log.of(events.Cancelled)] == [0]
  assert [e.request for e in served.log.of(events.Deadline)] == [3]
  check_answers(served, truth)


def test_a_cancelled_run_stops_at_once(engine, truth, monkeypatch):
  """The worker is kept from its fourth step until the client has given up."""
  replica = engine._crew.workers[1].replica
  decode, steps = replica.decode, itertools.count(1)
  given_up = threading.Event()

  def gated(*args):
    if next(steps) > 3:
      assert given_up.wait(60)
    return decode(*args)

  load = workload(requests=1)
  case = IN_STATE["decode after its transfer"]
  give_up = GivesUp(load.clients(), case, events.Cancelled)

  def watch(event, world):
    give_up(event, world)
    if isinstance(event, events.Cancelled):
      given_up.set()

  monkeypatch.setattr(replica, "decode", gated)
  monkeypatch.setattr(Workload, "clients", lambda self: give_up)
  served = serve_on(engine, RUN, load, watch=watch)
  settled = served.log.of(events.Settled)[-1]
  ended = served.log.of(events.StepEnded)[-1]
  assert (settled.run, settled.steps) == (ended.run, ended.steps)
  assert len(served.tokens[0]) == 1 + ended.steps <= 5 < len(truth.tokens[0])
