"""How much of a context `paged_decode` holds at a time."""

import dataclasses

from pdjax_kernels.spec import Spec


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TpuBlocks:
  """A block is some heads of some pages; two blocks are in fast memory."""

  pages: int
  heads: int

  def __post_init__(self):
    if self.pages < 1 or self.heads < 1:
      raise ValueError(f"{self.pages=}, {self.heads=}: at least 1")


_BLOCK_BYTES = 2 * 2**20
"""Two blocks and their float32 copies fit the 16 MiB of a v5e's default."""

_BLOCK_TOKENS = 512
"""Longer blocks spend more on masked positions, shorter ones on waiting."""


def tpu_blocks(spec: Spec) -> TpuBlocks:
  """A guess that fits; tuned tables go before it."""
  heads = spec.num_kv_heads
  page_bytes = spec.page_tokens * spec.cell_bytes
  while heads % 2 == 0 and heads * page_bytes > _BLOCK_BYTES:
    heads //= 2
  fit = _BLOCK_BYTES // (heads * page_bytes)
  return TpuBlocks(
      pages=max(1, min(fit, _BLOCK_TOKENS // spec.page_tokens)), heads=heads
  )
