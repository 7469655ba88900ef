"""What a kernel does, told to the compiler around it: upper bounds by shape.

Dimension key: docs/notation.md; W = width of a cell.
"""

import jax
from jax.experimental import pallas as pl


def paged_decode(
    q_BNH: jax.Array, kv_P2KCH: jax.Array, page_BM: jax.Array
) -> pl.CostEstimate:
  """Of sequences as long as their page tables."""
  (B, N, _), M = q_BNH.shape, page_BM.shape[1]
  _, _, _, C, W = kv_P2KCH.shape
  return pl.CostEstimate(
      flops=4 * B * N * W * M * C,
      transcendentals=B * N * M * C,
      bytes_accessed=B * M * _page_bytes(kv_P2KCH),
  )


def chunk_prefill(
    q_UNH: jax.Array, kv_P2KCH: jax.Array, page_RM: jax.Array, J: int
) -> pl.CostEstimate:
  """Of tokens that see half of a full context each, in J blocks."""
  (U, N, _), (R, M) = q_UNH.shape, page_RM.shape
  _, _, _, C, W = kv_P2KCH.shape
  return pl.CostEstimate(
      flops=4 * U * N * W * M * C // 2,
      transcendentals=U * N * M * C // 2,
      bytes_accessed=max(R, J) * M * _page_bytes(kv_P2KCH) // 2
      + 2 * q_UNH.size * q_UNH.dtype.itemsize,
  )


def _page_bytes(kv_P2KCH: jax.Array) -> int:
  return kv_P2KCH.size // kv_P2KCH.shape[0] * kv_P2KCH.dtype.itemsize
