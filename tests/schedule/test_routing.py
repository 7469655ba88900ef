"""Routers: which worker comes first."""

import pytest

from pdjax.config import ConfigError
from pdjax.events import Route
from pdjax.schedule.routing import (
  JoinShortestQueue,
  LeastOutstandingTokens,
  PrefixAware,
  RoundRobin,
  router,
)
from tests.laws.cluster import ROUTERS
from tests.schedule.worlds import arrive, world_of


def loaded(*prompts):
  """Three workers, (worker, prompt tokens) waiting there, and an arrival."""
  world, _ = world_of("CCC")
  for request, (worker, prompt) in enumerate(prompts):
    arrive(world, request, prompt)
    world.start(Route(request, worker))
  return world, arrive(world, 99, 5)


def ids(workers):
  return [worker.id for worker in workers]


def test_least_outstanding_tokens_counts_what_waits_and_what_is_held():
  world, late = loaded((0, 10), (1, 20), (1, 30), (2, 40))
  assert [w.outstanding_tokens for w in world.workers] == [10, 50, 40]
  assert ids(LeastOutstandingTokens().rank(late, world.workers)) == [0, 2, 1]


def test_join_shortest_queue_counts_requests_whatever_their_length():
  world, late = loaded((0, 4), (0, 4), (1, 40), (2, 4), (2, 4), (2, 4))
  assert ids(JoinShortestQueue().rank(late, world.workers)) == [1, 0, 2]


def test_round_robin_turns_and_keeps_a_requests_turn():
  world, _ = world_of("CCC")
  rule = RoundRobin()
  first, second = arrive(world, 0, 5), arrive(world, 1, 5)
  assert rule.rank(first, world.workers)[0].id == 0
  assert rule.rank(second, world.workers)[0].id == 1
  assert rule.rank(first, world.workers)[0].id == 0


class Caches:
  """A prefix cache a worker: how many tokens of any prompt each one keeps."""

  def __init__(self, *tokens):
    self._tokens = tokens

  def __call__(self, worker, request):
    return min(self._tokens[worker.id], request.prompt_tokens)


def test_the_longest_cached_prefix_wins():
  world, late = loaded((0, 10), (1, 20), (2, 30))
  rule = PrefixAware(Caches(0, 2, 4))
  assert ids(rule.rank(late, world.workers)) == [2, 1, 0]


def test_a_cache_does_not_outweigh_too_much_load():
  world, late = loaded((0, 10), (1, 20), (2, 30))
  rule = PrefixAware(Caches(0, 2, 4), most_excess_tokens=19)
  assert ids(rule.rank(late, world.workers)) == [1, 0, 2]


def test_without_a_cache_load_decides():
  world, late = loaded((0, 30), (1, 20), (2, 10))
  assert ids(PrefixAware().rank(late, world.workers)) == [2, 1, 0]
  assert not world.workers[0].cached_prefix_tokens(late.request)


@pytest.mark.parametrize("name", [*ROUTERS, "prefix_aware"])
def test_routers_are_found_by_name(name):
  world, late = loaded((0, 10))
  assert len(router(name).rank(late, world.workers)) == 3


def test_an_unknown_router_is_named():
  with pytest.raises(ConfigError, match="least_outstanding_tokens"):
    router("randomly")
