"""A pool that remembers: what is found, shared, evicted, and conserved."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdjax.pagenames import PageNames
from pdjax.prefixcache import PrefixCache
from pdjax.request import Request


def filled(*names):
  """A pool of as many pages, each named, all given back in this order."""
  pool = PrefixCache(len(names))
  for page, name in zip(pool.take(len(names)), names, strict=True):
    pool.remember(page, name)
    pool.give([page])
  return pool


def test_what_was_given_back_is_found_up_to_the_first_gap():
  pool = filled(10, 11, 13)
  assert pool.found([10, 11, 12, 13]) == [1, 2]
  assert pool.free_pages == 3


def test_the_page_unused_for_longest_goes_first():
  pool = filled(10, 11, 12)
  pool.share(pool.found([10]))
  pool.give([1])
  assert pool.take(1) == [2]
  assert pool.found([11]) == [] and pool.found([10]) == [1]


def test_the_end_of_a_prefix_goes_before_its_beginning():
  pool = PrefixCache(3)
  pages = pool.take(3)
  for page, name in zip(pages, (10, 11, 12), strict=True):
    pool.remember(page, name)
  pool.give(pages)
  pool.take(1)
  assert pool.found([10, 11, 12]) == pages[:2]


def test_a_shared_page_is_free_when_its_last_holder_lets_go():
  pool = filled(10)
  pool.share([1])
  pool.share([1])
  pool.give([1])
  assert pool.free_pages == 0
  pool.check([1])
  with pytest.raises(ValueError, match="holders"):
    pool.check([1, 1])
  pool.give([1])
  assert pool.free_pages == 1
  with pytest.raises(ValueError, match="that has it"):
    pool.give([1])


def test_what_was_taken_and_not_written_goes_next():
  pool = filled(10, 11, 12)
  first = pool.take(1)
  pool.put_back(first)
  assert pool.leading_unnamed(3) == 1 and pool.take(1) == first


def test_what_nobody_can_ask_for_counts_as_unnamed():
  pool = filled(10, 11)
  assert pool.leading_unnamed(2) == 0
  pool.forget([10])
  assert pool.leading_unnamed(2) == 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=60))
def test_any_sequence_keeps_law_2(moves):
  """Holders take, share, let go; names are drawn from a few."""
  pool, held = PrefixCache(8), []
  for move, number in moves:
    match move:
      case 0 if number <= pool.free_pages:
        held.append(pool.take(number))
        for page in held[-1]:
          pool.remember(page, page % 5)
      case 1:
        found = pool.found([number])
        pool.share(found)
        held.append(found)
      case 2 if held:
        pool.give(held.pop(number % len(held)))
      case _:
        pool.forget([number])
    pool.check([page for pages in held for page in pages])


def request(id, prompt, *blocks, block_tokens=12):
  return Request(
      id=id, arrival_ps=0, prompt_tokens=prompt, max_tokens=9,
      prefix_ids=blocks, prefix_block_tokens=block_tokens if blocks else 0,
  )


def test_names_are_equal_exactly_where_all_tokens_before_are():
  names = PageNames(page_tokens=8)
  # Blocks of 12 tokens end at 12, 24, 36; pages of 8 at 8, 16, 24, 32.
  first = [*names.of(request(0, 40, 1, 2, 3), 0, 5)]
  other = [*names.of(request(1, 40, 1, 2, 4), 0, 5)]
  assert first[:3] == other[:3]
  assert not {*first[3:]} & {*other[3:]}
  moved = [*names.of(request(2, 40, 2, 1, 3), 0, 5)]
  assert not {*first} & {*moved}


def test_a_partial_block_is_its_requests_own():
  names = PageNames(page_tokens=8)
  ours = [*names.of(request(0, 23, 1, 2), 0, 2)]
  theirs = [*names.of(request(1, 23, 1, 2), 0, 2)]
  assert ours[0] == theirs[0] and ours[1] != theirs[1]
  assert [*names.own(request(0, 23, 1, 2), 2)] == ours[1:]
