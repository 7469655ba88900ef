"""How many steps of a run are over: the closed form equals counting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdjax.segments import Segment, elapsed_ps, first_steps, steps_within

SEGMENTS = st.lists(
    st.builds(
        Segment, st.integers(1, 40), st.integers(200, 10**4),
        st.sampled_from([0, 1, 7, 10**3, -5]),
    ),
    min_size=1, max_size=4,
).map(tuple)


@given(SEGMENTS, st.integers(-3, 10**6), st.booleans())
def test_steps_within_counts_the_steps(segments, passed_ps, at_an_end):
  total = sum(segment.steps for segment in segments)
  if at_an_end:
    passed_ps = elapsed_ps(segments, passed_ps % total + 1)
  counted = sum(
      elapsed_ps(segments, steps) <= passed_ps for steps in range(1, total + 1)
  )
  assert steps_within(segments, passed_ps) == counted


@pytest.mark.parametrize("steps", [0, 2, 5])
def test_first_steps(steps):
  segments = (Segment(5, 10, 1),)
  kept = first_steps(segments, steps)
  assert sum(segment.steps for segment in kept) == steps
  assert elapsed_ps(kept, steps) == elapsed_ps(segments, steps)
