"""Bucket plans: few programs, and every pass fits one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdjax.buckets import Limits, Shape, ladder, plan, rung

KINDS = ("prefill", "decode", "mixed", "gather", "scatter")


@given(
    high=st.integers(1, 100_000), low=st.sampled_from([0.5, 2, 8]),
    rungs=st.integers(1, 12),
)
def test_ladders_end_at_the_limit(high, low, rungs):
  sizes = ladder(high, low, rungs)
  assert sizes[-1] == high and sizes[0] >= 1
  assert list(sizes) == sorted(set(sizes)) and len(sizes) <= rungs


@given(
    B=st.integers(1, 512), U=st.integers(1, 9000), M=st.integers(1, 9000),
    kinds=st.sets(st.sampled_from(KINDS), min_size=1),
    most=st.integers(5, 40),
)
def test_plans_stay_within_the_limit(B, U, M, kinds, most):
  limits = Limits(B, U, M, tuple(sorted(kinds)), staging_M=(M,), K=(2,))
  shapes = plan(limits, most).shapes()
  assert len(set(shapes)) == len(shapes) <= most
  assert {shape.kind for shape in shapes} == kinds


def test_one_program_a_kind_at_least():
  with pytest.raises(ValueError, match="less than one a kind"):
    plan(Limits(4, 64, 8, ("prefill", "decode", "mixed")), 2)


def test_a_mixed_pass_has_room_for_every_decode():
  buckets = plan(Limits(16, 512, 64, ("decode", "mixed")), 24)
  rows = {shape.B for shape in buckets.shapes() if shape.kind == "mixed"}
  assert rows == {16} and len(buckets.B) > 1


def test_transfers_share_one_ladder_and_know_their_sources():
  limits = Limits(4, 64, 8, ("gather", "scatter"), staging_M=(2, 8), K=(2, 4))
  assert plan(limits, 6).shapes() == [
      Shape("gather", 2), Shape("gather", 8),
      Shape("scatter", 2, K=2), Shape("scatter", 2, K=4),
      Shape("scatter", 8, K=2), Shape("scatter", 8, K=4),
  ]


def test_rung_is_the_smallest_that_holds():
  assert [rung((4, 16, 64), size) for size in (1, 4, 5, 64)] == [4, 4, 16, 64]
  with pytest.raises(ValueError, match="largest bucket"):
    rung((4, 16), 17)
