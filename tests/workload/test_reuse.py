"""Prefix reuse by size of the cache, by hand."""

from pdjax import config
from pdjax.request import Request
from pdjax.workload.build import build
from pdjax.workload.reuse import reuse_curve
from pdjax.workload.statistics import describe


def request(id, *ids, prompt_tokens=None):
  return Request(
      id=id, arrival_ps=id, prompt_tokens=prompt_tokens or 10 * len(ids),
      max_tokens=1, prefix_ids=ids, prefix_block_tokens=10,
  )


def test_by_hand():
  requests = [request(0, 1, 2), request(1, 3), request(2, 1, 2)]
  # All three blocks: 20 of 50 tokens are found again. One: the last is 3.
  assert reuse_curve(requests) == [(10, 0.0), (30, 0.4)]
  # Ends of prefixes go first, so with two blocks the first one is left.
  assert reuse_curve([*requests, request(3, 4)], points=2) == [
      (20, 10 / 60), (40, 20 / 60),
  ]


def test_a_partial_block_is_not_shared():
  requests = [request(id, 1, 2, prompt_tokens=15) for id in range(2)]
  assert reuse_curve(requests)[-1] == (10, 10 / 30)


def test_without_limits_it_is_the_statistic():
  load = build(config.Workload(kind="mooncake"))
  *_, (_, share) = reuse_curve(load.requests)
  assert share == describe(load)["prefix_reuse_share"]
  assert reuse_curve(build(config.Workload(rate=1.0)).requests) == []
