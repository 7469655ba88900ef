"""Positions that decodes attend to over a run, in straight pieces.

Each step every sequence has one position more, until a sliding window is full:
from then on its count stands. So the sum over sequences is a straight line
between two steps at which some window fills.
"""

from typing import NamedTuple

from pdjax.schedule.cost import StepShape


class Piece(NamedTuple):
  """Steps between two breakpoints."""

  steps: int
  context_tokens: int
  """Attended in the first of them, by all sequences together."""
  growth: int
  """More in each step than in the one before."""

  @property
  def total(self) -> int:
    """Attended in all of them."""
    triangle = self.steps * (self.steps - 1) // 2
    return self.steps * self.context_tokens + self.growth * triangle


def attended(shape: StepShape, window: int | None) -> tuple[Piece, ...]:
  """The pieces of a shape's decodes; sequences whose lengths are not given
  are taken to be equally long.

  >>> shape = StepShape((), 2, 10, repeats=4, decode_contexts=(3, 7))
  >>> for piece in attended(shape, 8):
  ...   print(piece)
  Piece(steps=1, context_tokens=10, growth=2)
  Piece(steps=3, context_tokens=12, growth=1)
  """
  seqs, context = shape.decode_seqs, shape.decode_context_tokens
  if window is None:
    return (Piece(shape.repeats, context, seqs),)
  lengths = shape.decode_contexts or _equal(context, seqs)
  # Steps until each window is full, those that are full aside.
  left = sorted(window - length for length in lengths if length < window)
  pieces, at = [], 0
  context = sum(min(length, window) for length in lengths)
  growing = len(left)
  for turn in (*dict.fromkeys(left), shape.repeats):
    turn = min(turn, shape.repeats)
    if turn > at:
      pieces.append(Piece(turn - at, context, growing))
      context += (turn - at) * growing
      at = turn
    growing -= left.count(turn)
  return tuple(pieces)


def _equal(context_tokens: int, seqs: int) -> tuple[int, ...]:
  each, more = divmod(context_tokens, seqs) if seqs else (0, 0)
  return (each + 1,) * more + (each,) * (seqs - more)
