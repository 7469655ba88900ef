"""How many pages `kv_move` has under way."""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TpuBlocks:
  """Pages whose copies overlap."""

  pages: int = 16

  def __post_init__(self):
    if self.pages < 1:
      raise ValueError(f"{self.pages=}: at least 1")
