"""How much `kv_write` holds at a time."""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TpuBlocks:
  """New tokens of a program, and strips of pages under way."""

  tokens: int = 128
  strips: int = 8

  def __post_init__(self):
    if self.tokens < 1 or self.strips < 2:
      raise ValueError(f"{self.tokens=}, {self.strips=}: at least 1 and 2")
