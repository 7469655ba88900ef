"""How much `chunk_prefill` holds at a time."""

import dataclasses

from pdjax_kernels import tuned
from pdjax_kernels.spec import Spec


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TpuBlocks:
  """Queries of a program, and pages and kv heads it looks at together."""

  tokens: int
  pages: int
  heads: int

  def __post_init__(self):
    if self.tokens < 1 or self.tokens & (self.tokens - 1):
      raise ValueError(f"{self.tokens=}: not a power of two")
    if self.pages < 1 or self.heads < 1:
      raise ValueError(f"{self.pages=}, {self.heads=}: at least 1")


_STATE_BYTES = 6 * 2**20
"""Of the running softmax of all rows, float32."""

_BLOCK_BYTES = 2 * 2**20
"""Of pages; two blocks are in fast memory."""

_BLOCK_TOKENS = 512
"""Of context: the scores of a head's rows fill a megabyte."""

_ROWS = 512
"""Queries that share a kv head: enough to keep the matrix unit busy."""


def tpu_blocks(spec: Spec, device: str | None = None) -> TpuBlocks:
  """Those measured on the kind of device, else a guess that fits."""
  measured = tuned.blocks("chunk_prefill", TpuBlocks, spec, device)
  return measured or _tpu_guess(spec)


def _tpu_guess(spec: Spec) -> TpuBlocks:
  G, heads = spec.queries_per_kv_head, spec.num_kv_heads
  tokens = max(8, min(256, 1 << (max(1, _ROWS // G)).bit_length() - 1))
  page_bytes = spec.page_tokens * spec.cell_bytes
  state_bytes = 4 * tokens * G * (spec.cell_width + 2 * 128)
  while heads % 2 == 0 and (
      heads * state_bytes > _STATE_BYTES or heads * page_bytes > _BLOCK_BYTES
  ):
    heads //= 2
  fit = _BLOCK_BYTES // (heads * page_bytes)
  pages = max(1, min(fit, _BLOCK_TOKENS // spec.page_tokens))
  return TpuBlocks(tokens=tokens, pages=pages, heads=heads)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TritonBlocks:
  """Rows of queries of a program, its tile of context, and its threads."""

  rows: int = 128
  tokens: int = 64
  warps: int = 8
  stages: int = 3
  """Tiles under way."""

  def __post_init__(self):
    for name in ("rows", "tokens"):
      size = getattr(self, name)
      if size < 16 or size & (size - 1):
        raise ValueError(f"{name}={size}: not a power of two from 16 on")
    if self.warps not in (1, 2, 4, 8, 16):
      raise ValueError(f"{self.warps=}: one of 1, 2, 4, 8, 16")
    if self.stages < 1:
      raise ValueError(f"{self.stages=}: at least 1")


def triton_blocks(spec: Spec, device: str | None = None) -> TritonBlocks:
  """Those measured on the kind of device, else a guess that fits."""
  measured = tuned.blocks("chunk_prefill", TritonBlocks, spec, device)
  return measured or _triton_guess(spec)


def _triton_guess(spec: Spec) -> TritonBlocks:
  wide = spec.cell_width > 128
  if spec.dtype == "float32":  # no tensor cores: the rows' products unroll
    return TritonBlocks(rows=32, tokens=16, stages=2)
  return TritonBlocks(rows=64, tokens=32) if wide else TritonBlocks()
