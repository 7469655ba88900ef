"""How much of the prompts a prefix cache of some size would hold.

The cache keeps whole blocks, drops the least recently used, and fills as
prompts arrive: what a single cache in front of everything would find. A
partial block is never shared.
"""

import collections
from collections.abc import Sequence

from pdjax.request import Request


def reuse_curve(
    requests: Sequence[Request], points: int = 8
) -> list[tuple[int, float]]:
  """Pairs of (cache size in tokens, share of prompt tokens found in it).

  Sizes halve from that of all different blocks down; empty without blocks.
  """
  named = [(_full_blocks(r), r.prefix_block_tokens) for r in requests]
  different = len({id for ids, _ in named for id in ids})
  if not different:
    return []
  block_tokens = max(tokens for _, tokens in named)
  prompt_tokens = sum(request.prompt_tokens for request in requests)
  sizes = sorted({max(1, different >> step) for step in range(points)})
  return [
      (
          size * block_tokens,
          _found(named, size) * block_tokens / prompt_tokens,
      )
      for size in sizes
  ]


def _full_blocks(request: Request) -> tuple[int, ...]:
  full = request.prompt_tokens // max(1, request.prefix_block_tokens)
  return request.prefix_ids[:full]


def _found(named: list[tuple[tuple[int, ...], int]], size: int) -> int:
  """Blocks of known prefixes, with room for `size` blocks."""
  cache: collections.OrderedDict[int, None] = collections.OrderedDict()
  found = 0
  for ids, _ in named:
    known = next((i for i, id in enumerate(ids) if id not in cache), len(ids))
    found += known
    # Ends of prefixes are dropped first: they are used last.
    for id in reversed(ids):
      cache[id] = None
      cache.move_to_end(id)
    while len(cache) > size:
      cache.popitem(last=False)
  return found
