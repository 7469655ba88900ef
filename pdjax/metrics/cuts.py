"""Many stretches of tokens, a batch of them at a time.

What is computed for every token of a run takes memory by the token. In batches
it stays in the processor's cache, and a run of a million requests needs no more
of it than one of a thousand.
"""

from collections.abc import Iterator

import numpy as np

BATCH_TOKENS = 1 << 16
"""Tokens looked at in one go: bounds memory, not the answer."""


def batches(count: np.ndarray) -> Iterator[tuple[slice, slice]]:
  """Stretches of `count` tokens each, in batches of about `BATCH_TOKENS`.

  Yields: the stretches of a batch, and their tokens, all stretches laid end to
  end.

  >>> list(batches(np.array([3, 2])))
  [(slice(0, 2, None), slice(0, 5, None))]
  """
  ends = np.cumsum(count)
  total = int(ends[-1]) if len(ends) else 0
  marks = np.arange(BATCH_TOKENS, total, BATCH_TOKENS)
  cuts = np.unique([0, *np.searchsorted(ends, marks), len(ends)]).tolist()
  for begin, end in zip(cuts, cuts[1:], strict=False):
    tokens = slice(int(ends[begin - 1]) if begin else 0, int(ends[end - 1]))
    yield slice(begin, end), tokens
