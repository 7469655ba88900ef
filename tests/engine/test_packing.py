"""Chunks packed into passes: nothing lost, nothing out of order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pdjax.config import Sampling
from pdjax.engine import packing
from pdjax.engine.orders import Chunk, DecodeRow


def chunk(request, size, start=0, left_tokens=1, pages=(1, 2, 3)):
  token_U = np.arange(100 * request, 100 * request + size, dtype=np.int32)
  return Chunk(request, token_U, start, pages, left_tokens)


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=12),
    tokens=st.integers(1, 30), rows=st.integers(1, 4),
)
def test_split_keeps_every_token_in_order(sizes, tokens, rows):
  chunks = [chunk(i, size, start=7) for i, size in enumerate(sizes)]
  passes = list(packing.split(chunks, tokens, rows))
  for packed in passes:
    assert 0 < len(packed) <= rows
    assert 0 < sum(len(c.token_U) for c in packed) <= tokens
    assert len({c.request for c in packed}) == len(packed)
  pieces = [piece for packed in passes for piece in packed]
  for one in chunks:
    own = [piece for piece in pieces if piece.request == one.request]
    np.testing.assert_array_equal(
        np.concatenate([piece.token_U for piece in own]), one.token_U
    )
    ends = [piece.end for piece in own]
    assert [piece.start for piece in own] == [7, *ends[:-1]]
    # Only the last piece samples a token.
    assert [piece.left_tokens for piece in own] == [0] * (len(own) - 1) + [1]


def test_prompts_by_hand():
  """Two chunks in a bucket of 6 tokens and 3 rows, 4 cells a page."""
  prompts = packing.prompts_of(
      [chunk(1, 2, start=4), chunk(2, 3, left_tokens=0, pages=(9,))], 6, 2, 3
  )
  assert prompts.token_U.tolist() == [100, 101, 200, 201, 202, 0]
  assert prompts.position_U.tolist() == [4, 5, 0, 1, 2, 0]
  assert prompts.row_U.tolist() == [0, 0, 1, 1, 1, -1]
  assert prompts.page_RM.tolist() == [[1, 2], [9, 0], [0, 0]]
  assert prompts.last_R.tolist() == [1, 4, 0]
  assert prompts.length_R.tolist() == [6, 0, 0]
  assert prompts.left_R.tolist() == [1, 0, 0]
  assert prompts.draws_R is None


def test_decode_rows_by_hand():
  rows = [DecodeRow(5, 77, 9, 3, (4, 6, 8)), DecodeRow(6, 78, 2, 1, (7,))]
  feed, table = packing.feed_of(rows, 3), packing.rows_of(rows, 3, 2)
  assert feed.token_B.tolist() == [77, 78, 0]
  assert feed.length_B.tolist() == [10, 3, 0]
  assert feed.left_B.tolist() == [3, 1, 0]
  assert table.page_BM.tolist() == [[4, 6], [7, 0], [0, 0]]
  assert table.draws_B is None


def test_draws_by_hand():
  """Padding is greedy; arrays that no request of the run needs are left out."""
  cut = Sampling(temperature=0.5, top_k=3, top_p=0.75, min_p=0.25, seed=1)
  rows = [cut, Sampling(temperature=2.0, seed=(5 << 32) + 6)]
  draws = packing.draws_of(rows, 3, cut)
  assert draws.key_S2.tolist() == [[0, 1], [5, 6], [0, 0]]
  assert draws.temperature_S.tolist() == [0.5, 2.0, 0.0]
  assert draws.cuts.top_k_S.tolist() == [3, 0, 0]
  assert draws.cuts.top_p_S.tolist() == [0.75, 1.0, 1.0]
  assert draws.cuts.min_p_S.tolist() == [0.25, 0.0, 0.0]
  assert packing.draws_of([], 3, rows[1]).cuts is None
  assert packing.draws_of([], 3, Sampling()) is None
