"""Laws 1 and 2: no request and no page is ever lost or doubled."""

from hypothesis import given, settings

from pdjax.request import State
from tests.laws.cluster import configs, load_of, loads, run_config, serve_load


def check_pools(event, world):
  for worker in world.workers:
    worker.pool.check(list(worker.held_pages()))


def check_end(world, load):
  states = [progress.state for progress in world.progress.values()]
  assert len(states) == len(load.requests)
  assert world.unfinished == 0
  for progress in world.progress.values():
    assert progress.ended and not progress.pages
    if progress.state is State.FINISHED:
      truth = load.output_tokens[progress.id]
      assert progress.generated_tokens == truth
  for worker in world.workers:
    assert worker.pool.free_pages == worker.spec.pool_pages
    assert worker.outstanding_tokens == 0 and not worker.waiting
    assert worker.num_seqs == 0


@settings(max_examples=120, deadline=None)
@given(configs(), loads())
def test_requests_and_pages_are_conserved(run, load):
  _, world = serve_load(run, load, watch=check_pools)
  check_end(world, load)


def test_tight_pools_do_preempt():
  """Else the laws above would never have met a preemption."""
  run = run_config("continuous", kv_tokens=128, reserve_pages=0)
  load = load_of(*((0, 40, 40) for _ in range(4)))
  _, world = serve_load(run, load)
  assert sum(p.preemptions for p in world.progress.values()) > 0
  assert sum(p.recomputed_tokens for p in world.progress.values()) > 0
  check_end(world, load)


def test_what_fits_no_pool_is_rejected_and_the_rest_served():
  run = run_config("continuous", kv_tokens=64)
  _, world = serve_load(run, load_of((0, 30, 10), (0, 100, 10), (5, 8, 8)))
  states = [world.progress[i].state for i in range(3)]
  assert states == [State.FINISHED, State.REJECTED, State.FINISHED]
