"""Conditional placement: what stays on the decode worker."""

import dataclasses

import pytest

from pdjax.events import Route, Step, Transfer
from pdjax.request import State
from pdjax.schedule.cost import StepShape
from pdjax.simulate.cluster import cluster_of
from tests.laws.cluster import load_of, run_config, serve_load, token_times

P, D = 0, 1


def routed(log):
  return {route.request: route.worker for route in log.of(Route)}


@pytest.mark.parametrize(("prompt", "worker"), [(60, D), (61, P)])
def test_the_limit_itself_still_stays(prompt, worker):
  log, world = serve_load(run_config("conditional"), load_of((0, prompt, 5)))
  assert routed(log) == {0: worker}
  assert len(log.of(Transfer)) == (worker == P)
  assert world.progress[0].state is State.FINISHED


def test_a_local_request_alone_equals_the_closed_form():
  run = run_config("conditional")
  log, _ = serve_load(run, load_of((7, 50, 4)))
  cost = cluster_of(run).costs[D]
  at_ps, times = 7 * 10**6, []
  shapes = [StepShape(((50, 0),))]
  shapes += [StepShape((), 1, 51 + token) for token in range(3)]
  for shape in shapes:
    at_ps += cost.step(shape)[0].first_ps
    times.append(at_ps)
  assert token_times(log)[0] == times


def test_chunks_of_a_local_prompt_join_the_decodes():
  load = load_of((0, 30, 40), (50_000, 60, 3))
  log, _ = serve_load(run_config("conditional, chunked"), load)
  mixed = [s for s in log.of(Step) if s.prefill and s.decode]
  assert mixed and all(s.worker == D for s in mixed)
  whole, _ = serve_load(run_config("conditional"), load)
  assert not [s for s in whole.of(Step) if s.prefill and s.decode]


def sessions(run):
  """Two prompts of 96 tokens, alike in their first 64, one after the other."""
  load = load_of((0, 96, 3), (900_000, 96, 3))
  requests = tuple(
      dataclasses.replace(
          request, prefix_ids=(1, 2, 3 + request.id), prefix_block_tokens=32
      )
      for request in load.requests
  )
  return serve_load(run, dataclasses.replace(load, requests=requests))


def test_what_the_decode_worker_has_cached_does_not_count():
  run = run_config("conditional", prefix_cache=True, local_prompt_tokens=40)
  log, _ = sessions(run)
  assert routed(log) == {0: P, 1: D}
  log, _ = sessions(run_config("conditional", local_prompt_tokens=40))
  assert routed(log) == {0: P, 1: P}


@pytest.mark.parametrize(("share", "worker"), [(0.6, D), (0.7, P)])
def test_a_mostly_cached_prompt_stays(share, worker):
  run = run_config(
      "conditional", prefix_cache=True, local_prompt_tokens=10,
      local_prefix_share=share,
  )
  log, _ = sessions(run)
  assert routed(log)[1] == worker


def test_an_older_hand_off_goes_before_a_younger_prompt_in_the_queue():
  """D holds 13 pages; both need 8 or more, and wait for the first to end."""
  run = run_config("conditional", kv_tokens=104, reserve_pages=0)
  load = load_of((0, 40, 60), (1, 80, 5), (60_000, 58, 5))
  log, world = serve_load(run, load)
  assert [t.request for t in log.of(Transfer)] == [1]
  assert routed(log) == {0: D, 1: P, 2: D}
  times = token_times(log)
  assert times[1][1] < times[2][0]
  assert world.unfinished == 0
