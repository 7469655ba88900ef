"""How much of a context `paged_decode` holds at a time."""

import dataclasses

import jax.numpy as jnp

from pdjax_kernels import tuned
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


def tpu_blocks(spec: Spec, device: str | None = None) -> TpuBlocks:
  """Those measured on the kind of device, else a guess that fits."""
  measured = tuned.blocks("paged_decode", TpuBlocks, spec, device)
  return measured or _tpu_guess(spec)


def _tpu_guess(spec: Spec) -> TpuBlocks:
  heads = spec.num_kv_heads
  page_bytes = spec.page_tokens * spec.cell_bytes
  while heads % 2 == 0 and heads * page_bytes > _BLOCK_BYTES:
    heads //= 2
  fit = _BLOCK_BYTES // (heads * page_bytes)
  return TpuBlocks(
      pages=max(1, min(fit, _BLOCK_TOKENS // spec.page_tokens)), heads=heads
  )


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TritonBlocks:
  """A program's tile of context, its threads, and how many programs to want."""

  tokens: int = 64
  programs: int = 528
  """Contexts are cut until there are so many: four for each of 132 cores."""
  warps: int = 4
  stages: int = 3
  """Tiles under way."""

  def __post_init__(self):
    if self.tokens < 16 or self.tokens & (self.tokens - 1):
      raise ValueError(f"{self.tokens=}: not a power of two from 16 on")
    if self.warps not in (1, 2, 4, 8, 16):
      raise ValueError(f"{self.warps=}: one of 1, 2, 4, 8, 16")
    if self.programs < 1 or self.stages < 1:
      raise ValueError(f"{self.programs=}, {self.stages=}: at least 1")

  def parts(self, contexts: int, context_tokens: int) -> int:
    """Parts of each of so many contexts (sequences times kv heads).

    None is shorter than four tiles where a context is full.
    """
    most = max(1, context_tokens // (4 * self.tokens))
    return min(most, -(-self.programs // max(1, contexts)))


_TILE_BYTES = 32 * 2**10
"""Of keys and values; `stages` of them fit the 227 KiB of an SM."""


def triton_blocks(spec: Spec, device: str | None = None) -> TritonBlocks:
  """Those measured on the kind of device, else a guess that fits."""
  measured = tuned.blocks("paged_decode", TritonBlocks, spec, device)
  return measured or _triton_guess(spec)


def _triton_guess(spec: Spec) -> TritonBlocks:
  width = max(jnp.dtype(x).itemsize for x in (spec.dtype, spec.kv_dtype))
  fit = _TILE_BYTES // (2 * spec.cell_width * width)
  return TritonBlocks(tokens=max(16, min(128, fit)))
