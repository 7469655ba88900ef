"""Loads that depend on the system: loops and measured windows keep the laws."""

import dataclasses

from hypothesis import given, settings
from hypothesis import strategies as st

from pdjax.events import Abort, Arrived, Cancelled, Fail, StepEnded
from pdjax.request import State
from pdjax.schedule.replay import replay
from pdjax.simulate.stepcosts import policy_for
from pdjax.window import Window
from pdjax.workload.clients import Behaviour
from tests.laws.cluster import (
    configs,
    load_of,
    loads,
    run_config,
    serve_load,
    world_for,
)
from tests.laws.test_conservation import check_pools

PS = st.integers(0, 60_000_000_000)
SECOND_PS = 10**12


@st.composite
def loops(draw):
  """A load whose requests wait for others to end."""
  load = draw(loads())
  count = len(load.requests)
  behaviour = Behaviour(
      first_ps=tuple(sorted(draw(st.lists(PS, min_size=1, max_size=6)))),
      think_ps=tuple(draw(st.lists(PS, min_size=count, max_size=count))),
      stays=tuple(draw(st.lists(
          st.booleans(), min_size=count, max_size=count
      ))),
  )
  return dataclasses.replace(load, behaviour=behaviour)


def ends_ps(log):
  """When each finished request ended."""
  return {
      request: event.at_ps
      for event in log.of(StepEnded) for request, _ in event.finished
  }


@settings(max_examples=40, deadline=None)
@given(configs(), loops(), st.none() | st.integers(1, SECOND_PS))
def test_loops_conserve_and_replay(run, load, end_ps):
  window = Window(end_ps // 4, end_ps) if end_ps else None
  load = dataclasses.replace(load, window=window)
  log, world = serve_load(run, load, watch=check_pools)
  assert all(progress.ended for progress in world.progress.values())
  for worker in world.workers:
    assert worker.pool.free_pages == worker.spec.pool_pages
  again = replay(log, policy_for(run), world_for(run))
  assert again.identical == again.commands and not again.difference


@settings(max_examples=30, deadline=None)
@given(loops())
def test_no_more_requests_at_a_time_than_users(load):
  stays = (True,) * len(load.requests)
  load = dataclasses.replace(
      load, behaviour=dataclasses.replace(load.behaviour, stays=stays)
  )
  log, world = serve_load(run_config("chunked", "2C"), load)
  users = len(load.behaviour.first_ps)
  present, most = set(), 0
  for _, entry in log:
    if isinstance(entry, Arrived):
      present.add(entry.request.id)
      most = max(most, len(present))
    elif isinstance(entry, StepEnded):
      present -= {request for request, _ in entry.finished}
    elif isinstance(entry, Abort | Fail):
      present.discard(entry.request)
  assert most <= users
  assert len(world.progress) == len(load.requests)


def test_a_user_thinks_after_an_answer():
  load = load_of((0, 30, 5), (0, 40, 7), (0, 20, 3))
  behaviour = Behaviour(
      first_ps=(0,), think_ps=(10**9, 2 * 10**9, 0), stays=(True, True, True)
  )
  log, _ = serve_load(
      run_config(), dataclasses.replace(load, behaviour=behaviour)
  )
  arrivals = [event.request.arrival_ps for event in log.of(Arrived)]
  ends = ends_ps(log)
  assert arrivals == [0, ends[0] + 10**9, ends[1] + 2 * 10**9]
  assert all(e.at_ps == e.request.arrival_ps for e in log.of(Arrived))


def test_who_leaves_does_not_come_back():
  load = load_of((0, 30, 5), (0, 40, 7), (0, 20, 3))
  behaviour = Behaviour(
      first_ps=(0, 5), think_ps=(0, 0, 0), stays=(False, False, True)
  )
  log, _ = serve_load(
      run_config(), dataclasses.replace(load, behaviour=behaviour)
  )
  assert len(log.of(Arrived)) == 2


@settings(max_examples=40, deadline=None)
@given(configs(), loads(), st.integers(1, SECOND_PS))
def test_load_goes_on_until_all_measured_requests_have_ended(
    run, load, end_ps
):
  window = Window(end_ps // 4, end_ps)
  load = dataclasses.replace(load, window=window, cancel_after_ps={})
  log, world = serve_load(run, load)
  measured = {
      r.id for r in load.requests if window.holds(r.arrival_ps)
  }
  states = {p.id: p.state for p in world.progress.values()}
  assert measured <= states.keys()
  assert not any(states[id] is State.ABORTED for id in measured)
  last_ps = max(
      [at for id, at in ends_ps(log).items() if id in measured], default=0
  )
  over_ps = max(last_ps, end_ps)
  arrived = {event.request.id for event in log.of(Arrived)}
  assert arrived >= {
      r.id for r in load.requests if r.arrival_ps < over_ps
  }
  assert all(event.at_ps >= end_ps for event in log.of(Cancelled))
