"""Spans against a second at a time, counted one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pdjax.metrics.spans import Spans

spans = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 30)),
    max_size=12,
)


def made(rows) -> Spans:
  owner, begin, end = np.array(rows, np.int64).reshape(-1, 3).T
  return Spans.of(owner, begin, end)


def covered(rows) -> set[tuple[int, int]]:
  return {(o, t) for o, begin, end in rows for t in range(begin, end)}


@given(spans)
def test_union_is_what_any_span_covers(rows):
  union = made(rows)
  again = zip(union.owner, union.begin_ns, union.end_ns, strict=True)
  assert covered(again) == covered(rows)
  assert union.total_ns(3).tolist() == [
      sum(o == owner for o, _ in covered(rows)) for owner in range(3)
  ]
  gaps = union.begin_ns[1:] > union.end_ns[:-1]
  assert (gaps | (np.diff(union.owner) > 0)).all()


@given(spans, spans)
def test_outside_is_what_the_other_does_not_cover(rows, others):
  left = covered(rows) - covered(others)
  assert made(rows).outside_ns(made(others), 3).tolist() == [
      sum(o == owner for o, _ in left) for owner in range(3)
  ]


@given(spans, st.integers(0, 2), st.integers(0, 30), st.integers(0, 30))
def test_within_counts_the_owners_own(rows, owner, begin, end):
  begin, end = min(begin, end), max(begin, end)
  inside = made(rows).within_ns(
      np.array([owner]), np.array([begin]), np.array([end])
  )
  assert inside.tolist() == [
      sum(o == owner and begin <= t < end for o, t in covered(rows))
  ]


@given(spans, st.integers(0, 30), st.integers(0, 30))
def test_clipped_keeps_what_lies_inside(rows, begin, end):
  kept = made(rows).clipped(begin, end)
  again = zip(kept.owner, kept.begin_ns, kept.end_ns, strict=True)
  assert covered(again) == {
      (o, t) for o, t in covered(rows) if begin <= t < end
  }
