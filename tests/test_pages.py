"""The free list: nothing lost, nothing doubled, the sentinel never given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdjax.pages import SENTINEL_PAGE, PageAllocator


def test_all_pages_but_the_sentinel_are_handed_out_once():
  pool = PageAllocator(5)
  pages = pool.take(2) + pool.take(3)
  assert sorted(pages) == [1, 2, 3, 4, 5]
  assert SENTINEL_PAGE not in pages and pool.free_pages == 0


def test_more_than_free_is_refused_and_changes_nothing():
  pool = PageAllocator(3)
  pool.take(2)
  with pytest.raises(ValueError, match="1 free"):
    pool.take(2)
  assert pool.free_pages == 1


def test_giving_back_too_much_is_refused():
  pool = PageAllocator(3)
  with pytest.raises(ValueError, match="full pool"):
    pool.give([1])


@pytest.mark.parametrize("held", [[], [1, 1], [1, 9]])
def test_check_sees_a_lost_doubled_or_foreign_page(held):
  pool = PageAllocator(4)
  pool.take(2)
  with pytest.raises(ValueError, match="held pages"):
    pool.check(held)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), max_size=40))
def test_any_sequence_keeps_each_page_once(moves):
  pool, held = PageAllocator(10), []
  for take, count in moves:
    if take and count <= pool.free_pages:
      held += pool.take(count)
    elif not take:
      pool.give(held[:count])
      del held[:count]
    pool.check(held)
