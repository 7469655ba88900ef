"""Rows of a Mooncake trace.

JSON lines with `timestamp` (milliseconds, on coarse ticks that many requests
share), `input_length`, `output_length` and `hash_ids`: one id for each block
of 512 prompt tokens, the last one perhaps partial. Ids are chained: an id
stands for its block and all blocks before it. The format is that of "Mooncake",
Qin et al., FAST 2025. A row may have the fields of `pdjax.workload.row.LIMITS`.
"""

import math
from typing import Any

from pdjax.workload.arrivals import PS_PER_S
from pdjax.workload.jsonobject import is_whole, length_of, object_of, short
from pdjax.workload.row import Row, limits_of

BLOCK_TOKENS = 512
FIELDS = ("timestamp", "input_length", "output_length", "hash_ids")

PS_PER_MS = PS_PER_S // 1000


class Parser:
  """Reads rows, and watches over all of them that ids stay chained.

  Args:
    block_tokens: prompt tokens that an id stands for.
    ps_per_tick: of the time stamps; `tick` says it in words.
  """

  def __init__(
      self,
      block_tokens: int = BLOCK_TOKENS,
      ps_per_tick: int = PS_PER_MS,
      tick: str = "milliseconds",
  ):
    self._block_tokens = block_tokens
    self._ps_per_tick, self._tick = ps_per_tick, tick
    self._parents: dict[int, int | None] = {}

  def row(self, line: str) -> Row:
    """One row.

    Raises:
      ValueError: what is wrong with it.
    """
    fields = object_of(line)
    missing = [name for name in FIELDS if name not in fields]
    if missing:
      raise ValueError(f"missing {', '.join(missing)}")
    prompt_tokens = length_of(fields, "input_length")
    return Row(
        self._time_ps(fields["timestamp"]),
        prompt_tokens,
        length_of(fields, "output_length"),
        self._chained(self._block_ids(fields["hash_ids"], prompt_tokens)),
        *limits_of(fields),
    )

  def _time_ps(self, value: Any) -> int:
    """Integers stay exact; a fraction is rounded to 1 ps."""
    if not _is_number(value) or not 0 <= value < math.inf:
      raise ValueError(
          f"timestamp is {short(value)}, not a number of {self._tick} from 0"
          " up"
      )
    return round(value * self._ps_per_tick)

  def _block_ids(self, value: Any, prompt_tokens: int) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(
        is_whole(id) and 0 <= id < 2**63 for id in value
    ):
      raise ValueError("hash_ids is not a list of whole numbers from 0 up")
    blocks = -(-prompt_tokens // self._block_tokens)
    if len(value) > blocks:
      raise ValueError(
          f"hash_ids names {len(value)} blocks, but input_length"
          f" {prompt_tokens} has {blocks} of {self._block_tokens} tokens"
      )
    return tuple(value)

  def _chained(self, ids: tuple[int, ...]) -> tuple[int, ...]:
    for parent, id in zip((None, *ids), ids, strict=False):
      known = self._parents.setdefault(id, parent)
      if known != parent:
        raise ValueError(
            f"hash_ids: block {id} follows {_name(parent)} here and"
            f" {_name(known)} in an earlier row, but equal ids mean equal"
            " prefixes"
        )
    return ids


def _name(id: int | None) -> str:
  return "nothing" if id is None else str(id)


def _is_number(value: Any) -> bool:
  return is_whole(value) or isinstance(value, float)
