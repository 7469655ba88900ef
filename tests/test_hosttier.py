"""What a cache evicts, host memory keeps for a while."""

from pdjax.hosttier import HostTier
from pdjax.prefixcache import PrefixCache


def test_what_was_unused_for_longest_goes_first():
  tier = HostTier(3)
  for name in (1, 2, 3):
    tier.put(name)
  tier.use([1])
  tier.put(4)
  assert tier.leading([1]) == [1] and tier.leading([2]) == []
  assert tier.leading([3, 4, 2, 1]) == [3, 4]
  assert len(tier) == 3


def test_a_page_evicted_twice_is_there_once():
  tier = HostTier(2)
  for name in (1, 2, 1, 3):
    tier.put(name)
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
