"""Positions attended over a run: pieces equal to counting."""

from hypothesis import given
from hypothesis import strategies as st

from pdjax.schedule.cost import StepShape
from pdjax.simulate.attended import attended


def counted(contexts, window, steps):
  return [
      sum(min(length + step, window) for length in contexts)
      for step in range(steps)
  ]


@given(
    contexts=st.lists(st.integers(1, 40), min_size=1, max_size=8),
    window=st.integers(1, 30), repeats=st.integers(1, 40),
)
def test_pieces_are_what_counting_gives(contexts, window, repeats):
  shape = StepShape(
      (), len(contexts), sum(contexts), repeats, tuple(contexts)
  )
  pieces = attended(shape, window)
  expanded = [
      piece.context_tokens + step * piece.growth
      for piece in pieces
      for step in range(piece.steps)
  ]
  assert expanded == counted(contexts, window, repeats)
  assert sum(piece.total for piece in pieces) == sum(expanded)
  assert all(piece.steps > 0 for piece in pieces)


def test_without_lengths_sequences_are_alike():
  shape = StepShape((), 3, 20, repeats=2)
  assert attended(shape, 7) == attended(
      StepShape((), 3, 20, 2, (7, 7, 6)), 7
  )
