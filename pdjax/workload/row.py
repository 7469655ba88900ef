"""One row of a trace, whatever the format.

Units: `_ps` picoseconds of the trace's own clock, `_tokens` tokens.
"""

from typing import NamedTuple

from pdjax.workload.lengths import MAX_TOKENS


class Unusable(Exception):
  """A row that is right and yet no request, such as a recorded failure."""


class Row(NamedTuple):
  """When a request came, how long it and its answer were, and its blocks."""

  at_ps: int
  prompt_tokens: int
  output_tokens: int
  prefix_ids: tuple[int, ...] = ()


def checked_length(name: str, tokens: int) -> int:
  """`tokens` as it is.

  Raises:
    ValueError: a negative or zero length, or one beyond any model.
  """
  if tokens < 1:
    raise ValueError(f"{name} is {tokens}; at least 1 token is needed")
  if tokens > MAX_TOKENS:
    raise ValueError(f"{name} is {tokens}; at most {MAX_TOKENS} is possible")
  return tokens
