"""Laws 1, 2 and 6 when a request is given up, in every state it can be in."""

import dataclasses

import pytest

from pdjax.events import Abort, Cancelled, Deadline, Fail, Settled, StepEnded
from pdjax.request import State
from pdjax.schedule.loop import serve
from pdjax.schedule.replay import replay
from pdjax.schedule.setup import world_of
from pdjax.simulate.cluster import cluster_of
from tests.laws.cluster import load_of, run_config, serve_load
from tests.laws.lifecycle import IN_STATE, GivesUp, policy_for
from tests.laws.test_conservation import check_end, check_pools

PAUSE_PS = 10**9


@pytest.mark.parametrize("kind", [Cancelled, Deadline])
@pytest.mark.parametrize("state", IN_STATE)
def test_given_up_in_every_state(state, kind):
  case = IN_STATE[state]
  run = run_config(
      "chunked prefill on P" if case.roles == "PD" else "continuous",
      kv_tokens=160 if case.tight else 2000,
      reserve_pages=0,
      chunk_size=32,
  )
  load = load_of(*((i * 3000, 40 + i, 30) for i in range(6)))
  cluster = cluster_of(run)
  give_up = GivesUp(load.clients(), case, kind)
  backend = cluster.backend(give_up, load.output_tokens)

  def watch(event, world):
    check_pools(event, world)
    give_up(event, world)

  world = world_of(run, cluster.pool_pages, cluster.staging_pages)
  log = serve(policy_for(case, PAUSE_PS), backend, world, watch)
  check_end(world, load)
  assert give_up.told
  answer = Abort if kind is Cancelled else Fail
  assert {c.request for c in log.of(answer)} == give_up.told
  fate = State.ABORTED if kind is Cancelled else State.FAILED
  ended = {id: world.progress[id].state for id in give_up.told}
  assert set(ended.values()) <= {fate, State.FINISHED}
  assert list(ended.values()).count(fate) > 0
  again = world_of(run, cluster.pool_pages, cluster.staging_pages)
  result = replay(log, policy_for(case, PAUSE_PS), again)
  assert result.identical == result.commands, result.difference


def test_who_has_ended_is_neither_cancelled_nor_late():
  run = run_config("continuous")
  load = load_of((0, 20, 3), (0, 600, 3), (5, 20, 400))
  patient = dataclasses.replace(
      load, cancel_after_ps={0: 10**14, 1: 10**14}
  )
  log, world = serve_load(run, patient)
  states = [world.progress[id].state for id in range(3)]
  assert states == [State.FINISHED, State.REJECTED, State.FINISHED]
  assert not log.of(Cancelled) and log.of(StepEnded)[-1].at_ps < 10**14


def test_a_cancelled_decode_ends_with_the_step_in_flight():
  run = run_config("continuous", kv_tokens=2000)
  load = load_of((0, 20, 40), (0, 20, 40))
  whole, _ = serve_load(run, load)
  _, prefilled, over = whole.of(StepEnded)  # a prefill each, and one run
  at_ps = (prefilled.at_ps + over.at_ps) // 2
  cancelled = dataclasses.replace(load, cancel_after_ps={0: at_ps})
  log, world = serve_load(run, cancelled)
  cut = next(e for e in log.of(StepEnded) if e.at_ps > at_ps)
  (settled,) = log.of(Settled)
  assert cut.steps == settled.steps and cut.run == settled.run
  step_ps = cut.segments[-1].step_ps(cut.segments[-1].steps - 1)
  assert at_ps < cut.at_ps <= at_ps + step_ps
  first, second = world.progress[0], world.progress[1]
  assert first.state is State.ABORTED
  assert first.generated_tokens == 1 + cut.steps < 40
  assert second.state is State.FINISHED and second.generated_tokens == 40
