"""What a cache evicts, host memory keeps for a while."""

from pdjax.hosttier import HostTier
from pdjax.prefixcache import PrefixCache


def test_what_was_unused_for_longest_goes_first():
  tier = HostTier(3)
  for name in (1, 2, 3):
    tier.put(0, name)
  tier.call([1])
  tier.bring([5], [1])
  tier.put(0, 4)
  assert tier.leading([1]) == [1] and tier.leading([2]) == []
  assert tier.leading([3, 4, 2, 1]) == [3, 4]
  assert len(tier) == 3


def test_a_page_evicted_twice_is_there_once():
  tier = HostTier(2)
  for name in (1, 2, 1, 3):
    tier.put(0, name)
  assert tier.leading([1, 3]) == [1, 3] and tier.leading([2]) == []


def test_only_what_could_be_found_goes_to_host_memory():
  host = HostTier(8)
  cache = PrefixCache(3, host)
  pages = cache.take(3)
  cache.remember(pages[0], 10)
  cache.remember(pages[1], 11)
  cache.give(pages)
  assert len(host) == 0
  cache.take(3)
  assert host.leading([10, 11]) == [10, 11] and len(host) == 2
  cache.forget([10])
  assert host.leading([10]) == [] and host.leading([11]) == [11]


def test_moves_are_told_in_order_and_none_twice():
  tier = HostTier(2)
  tier.moves = []
  tier.put(5, 1)
  tier.put(6, 2)
  tier.put(7, 1)  # it is there
  tier.call([2])
  tier.put(8, 3)
  tier.put(9, 4)
  tier.bring([5], [2])
  assert tier.moves == [
      ("out", 5, 1), ("out", 6, 2), ("out", 8, 3), ("drop", 0, 1),
      ("out", 9, 4), ("back", 5, 2),
  ]
  assert len(tier) == 3  # what was called was kept beyond the limit
  tier.put(1, 9)
  assert len(tier) == 2 and tier.leading([4, 9]) == [4, 9]
