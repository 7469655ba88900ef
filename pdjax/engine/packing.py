"""Orders to arrays: numpy, padded to buckets, on the worker's thread.

Arrays are typed `Any` where they go into a pass, which sees them as jax arrays.

Dimension key: docs/notation.md.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pdjax.buckets import packed
from pdjax.config import Sampling
from pdjax.engine.cuts import Cuts
from pdjax.engine.orders import GREEDY, Chunk, DecodeRow
from pdjax.engine.passes import Feed, Prompts, Rows
from pdjax.engine.sampling import Draws, cuts, draws
from pdjax.pages import SENTINEL_PAGE


def split(
    chunks: Sequence[Chunk], tokens: int, rows: int
) -> Iterator[list[Chunk]]:
  """Packs chunks, in order, into passes of at most `tokens` and `rows`."""
  left = list(chunks)
  sizes = [len(chunk.token_U) for chunk in chunks]
  for pack in packed(sizes, tokens, rows):
    passed = []
    for place, size in pack:
      head = left[place]
      if size < len(head.token_U):
        head, left[place] = head.cut(size)
      passed.append(head)
    yield passed


def feed_of(decodes: Sequence[DecodeRow], B: int) -> Feed:
  """The first tokens to be fed."""
  return Feed(
      token_B=padded([row.token for row in decodes], B),
      length_B=padded([row.context_tokens + 1 for row in decodes], B),
      left_B=padded([row.left_tokens for row in decodes], B),
  )


def rows_of(
    decodes: Sequence[DecodeRow], B: int, M: int, kind: Sampling = GREEDY
) -> Rows:
  """Their first M pages, and how they draw; for `kind` see `draws_of`."""
  return Rows(
      page_BM=page_table([row.pages for row in decodes], B, M),
      draws_B=draws_of([row.sampling for row in decodes], B, kind),
  )


def prompts_of(
    chunks: Sequence[Chunk], U: int, M: int, R: int, kind: Sampling = GREEDY
) -> Prompts:
  """Chunks one after the other, then padding; for `kind` see `draws_of`."""
  sizes = [len(chunk.token_U) for chunk in chunks]
  spans = [np.arange(chunk.start, chunk.end) for chunk in chunks]
  return Prompts(
      token_U=joined([chunk.token_U for chunk in chunks], U),
      position_U=joined(spans, U),
      row_U=padded(np.repeat(np.arange(len(chunks)), sizes), U, fill=-1),
      page_RM=page_table([chunk.pages for chunk in chunks], R, M),
      last_R=padded(np.cumsum(sizes) - 1, R),
      length_R=padded([c.end if c.left_tokens else 0 for c in chunks], R),
      left_R=padded([chunk.left_tokens for chunk in chunks], R),
      draws_R=draws_of([chunk.sampling for chunk in chunks], R, kind),
  )


def draws_of(
    rows: Sequence[Sampling], size: int, kind: Sampling
) -> Draws | None:
  """How rows draw, padding greedily, in as many arrays as `kind` needs."""
  if not draws(kind):
    return None
  padding = [GREEDY] * (size - len(rows))
  every = [*rows, *padding]

  def floats(name: str) -> Any:
    return np.array([getattr(row, name) for row in every], np.float32)

  words = [divmod(row.seed % (1 << 64), 1 << 32) for row in every]
  key_S2: Any = np.array(words, np.uint32).reshape(size, 2)
  return Draws(
      key_S2=key_S2,
      temperature_S=floats("temperature"),
      cuts=Cuts(
          top_k_S=padded([row.top_k for row in every], size),
          top_p_S=floats("top_p"),
          min_p_S=floats("min_p"),
      ) if cuts(kind) else None,
  )


def page_table(pages: Sequence[tuple[int, ...]], R: int, M: int) -> Any:
  """page_RM, padded with the sentinel; longer lists are cut at M."""
  page_RM = np.full((R, M), SENTINEL_PAGE, np.int32)
  for row, own in enumerate(pages):
    page_RM[row, : len(own)] = own[:M]
  return page_RM


def joined(parts: Sequence[np.ndarray], size: int) -> Any:
  """An int32 array of `size`: the parts one after the other."""
  return padded(np.concatenate(parts) if parts else (), size)


def padded(values: Any, size: int, fill: int = 0) -> Any:
  """An int32 array of `size`."""
  array = np.full(size, fill, np.int32)
  array[: len(values)] = values
  return array
