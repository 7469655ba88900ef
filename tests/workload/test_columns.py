"""Columns: parts, scales, cuts, by hand."""

import numpy as np

from pdjax.workload.columns import Columns


def _columns():
  # Three prompts of 4-token blocks: 2 full + 1, 1 full + 2, exactly 3 blocks.
  return Columns(
      arrival_ps=np.array([0, 10, 40]),
      prompt_tokens=np.array([9, 6, 12]),
      output_tokens=np.array([3, 1, 8]),
      prefix_ids=((0, 1, 2), (0, 3), (0, 1, 4)),
      prefix_block_tokens=4,
  )


def test_a_part_starts_its_own_clock():
  part = _columns().part(1, 2)
  assert part.arrival_ps.tolist() == [0, 30]
  assert part.prompt_tokens.tolist() == [6, 12]
  assert part.prefix_ids == ((0, 3), (0, 1, 4))
  assert len(_columns().part(1, None)) == 2


def test_late_requests_keep_all_that_is_theirs():
  count = 50
  number = np.arange(count)
  late = Columns(
      arrival_ps=np.zeros(count, np.int64),
      prompt_tokens=number + 1,
      output_tokens=number + 1,
      prefix_ids=tuple((id,) for id in range(count)),
      prefix_block_tokens=count,
      cancel_after_ps=number,
      deadline_after_ps=number,
  ).jittered(10**6, np.random.default_rng(0))
  order = late.prompt_tokens - 1
  assert order.tolist() != number.tolist()
  assert late.arrival_ps[0] == 0 and (np.diff(late.arrival_ps) >= 0).all()
  assert late.output_tokens.tolist() == (order + 1).tolist()
  assert [id for (id,) in late.prefix_ids] == order.tolist()
  assert late.cancel_after_ps is not None
  assert late.cancel_after_ps.tolist() == order.tolist()
  assert late.deadline_after_ps is not None
  assert late.deadline_after_ps.tolist() == order.tolist()


def test_stretched():
  assert _columns().stretched(1.5).arrival_ps.tolist() == [0, 15, 60]


def test_scaled_down_keeps_the_shared_share():
  half = _columns().scaled(0.5)
  # 9 / 2 = 4.5 rounds to even 4: two blocks of 2, the third begins behind it.
  assert half.prompt_tokens.tolist() == [4, 3, 6]
  assert half.output_tokens.tolist() == [2, 1, 4]
  assert half.prefix_block_tokens == 2
  assert half.prefix_ids == ((0, 1), (0, 3), (0, 1, 4))


def test_scaled_up():
  double = _columns().scaled(2.0)
  assert double.prompt_tokens.tolist() == [18, 12, 24]
  assert double.prefix_block_tokens == 8
  assert double.prefix_ids == _columns().prefix_ids


def test_cut_keeps_the_head_of_a_prompt():
  cut = _columns().cut(8, 2)
  assert cut.prompt_tokens.tolist() == [8, 6, 8]
  assert cut.output_tokens.tolist() == [2, 1, 2]
  assert cut.prefix_ids == ((0, 1), (0, 3), (0, 1))
