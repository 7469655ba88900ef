"""Attention and page movement at the sizes that serving has, as real arrays.

Dimension key: docs/notation.md.
"""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from pdjax_kernels.spec import Spec


@dataclasses.dataclass(frozen=True, kw_only=True)
class Load:
  """What one kernel is asked to do once."""

  kernel: str
  """paged_decode, chunk_prefill, kv_write or kv_move."""
  num_heads: int = 32
  num_kv_heads: int = 8
  head_dim: int = 128
  page_tokens: int = 16
  dtype: str = "bfloat16"
  kv_dtype: str = "bfloat16"
  rows: int = 1
  """Sequences."""
  tokens: int = 4096
  """Of each: its context, the tokens of its chunk, or those moved."""
  packed: bool = False

  def __str__(self) -> str:
    return (
        f"{self.kernel} N{self.num_heads} K{self.num_kv_heads}"
        f" H{self.head_dim} page {self.page_tokens}"
        f" {self.dtype}/{self.kv_dtype} {self.rows} x {self.tokens:,}"
    )

  @property
  def spec(self) -> Spec:
    return Spec(
        num_heads=self.num_heads, num_kv_heads=self.num_kv_heads,
        head_dim=self.head_dim, page_tokens=self.page_tokens,
        dtype=self.dtype, kv_dtype=self.kv_dtype, packed=self.packed,
    )

  @property
  def context_tokens(self) -> int:
    return self.rows * self.tokens

  @property
  def moved_bytes(self) -> int:
    """The least that has to pass the memory's pins."""
    cells = self.context_tokens * self.num_kv_heads * self.spec.cell_bytes
    per_token = self.num_heads * self.head_dim * jnp.dtype(self.dtype).itemsize
    match self.kernel:
      case "paged_decode":
        return cells + 2 * self.rows * per_token
      case "chunk_prefill":
        return cells + 2 * self.context_tokens * per_token
      case "kv_write":
        read, written = (
            jnp.dtype(x).itemsize for x in (self.dtype, self.kv_dtype)
        )
        return cells + cells * read // written
    return 4 * cells  # out of the cache and back, each read and written

  @property
  def flops(self) -> int:
    """Of the two products, each token over its past and itself."""
    seen = {
        "paged_decode": self.context_tokens,
        "chunk_prefill": self.rows * self.tokens * (self.tokens + 1) // 2,
    }.get(self.kernel, 0)
    return 4 * seen * self.num_heads * self.head_dim


@dataclasses.dataclass(frozen=True)
class Arrays:
  """A load's operands. Pages lie in random order; page 0 is nobody's."""

  q_TNH: jax.Array
  """A query a sequence, or one a token of the chunks."""
  kv_P2KCH: jax.Array
  page_RM: jax.Array
  length_R: jax.Array
  row_U: jax.Array
  position_U: jax.Array


def arrays(load: Load, seed: int = 0) -> Arrays:
  R, C = load.rows, load.page_tokens
  M = -(-load.tokens // C)
  places = np.random.default_rng(seed).permutation(R * M).astype(np.int32) + 1
  pair, width = load.spec.pair, load.spec.cell_width
  T = R if load.kernel == "paged_decode" else load.context_tokens
  return Arrays(
      q_TNH=_drawn(seed, (T, load.num_heads, load.head_dim), load.dtype),
      kv_P2KCH=_drawn(
          seed + 1, (R * M + 1, pair, load.num_kv_heads, C, width),
          load.kv_dtype,
      ),
      page_RM=jnp.asarray(places.reshape(R, M)),
      length_R=jnp.asarray(np.full(R, load.tokens, np.int32)),
      row_U=jnp.asarray(np.repeat(np.arange(R, dtype=np.int32), load.tokens)),
      position_U=jnp.asarray(
          np.tile(np.arange(load.tokens, dtype=np.int32), R)
      ),
  )


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _drawn(seed: int, shape: tuple[int, ...], dtype: str) -> jax.Array:
  """From -2 to 1.5 in steps of a half, or -4 to 3 where there are no halves.

  Exact in every type, and never held in a wider one.
  """
  key = jax.random.key(seed, impl="rbg")
  bits = jax.random.bits(key, shape, jnp.uint8)
  whole = jax.lax.bitcast_convert_type(bits, jnp.int8) >> 5
  if dtype == "int8":
    return whole
  return (whole.astype(jnp.bfloat16) / 2).astype(dtype)


MODELS: tuple[dict[str, Any], ...] = (
    {},  # Llama-3-8B
    {"num_heads": 8, "num_kv_heads": 1},  # Llama-3-70B on 8 devices
    {"num_kv_heads": 32},  # Llama-2-7B
    {"head_dim": 64},  # Llama-3.2-1B
    {"num_heads": 16, "head_dim": 256},  # Gemma-2-9B
    {"kv_dtype": "float8_e4m3fn"},
    {"kv_dtype": "int8"},
    {"page_tokens": 64},
)
"""Heads of known models, and types and pages of the first."""

SIZES: dict[str, tuple[tuple[int, int], ...]] = {
    "paged_decode": ((64, 4096), (8, 32_768), (1, 131_072)),
    "chunk_prefill": ((1, 8192), (4, 2048)),
    "kv_write": ((1, 8192), (64, 1)),
    "kv_move": ((1, 8192),),
}
"""(sequences, tokens of each); the first is what blocks are tuned on."""


def loads(kernels: tuple[str, ...], packs: bool) -> Iterator[Load]:
  """All of them; heads of 64 lie packed where `packs`."""
  for kernel in kernels:
    for model in MODELS:
      for rows, tokens in SIZES[kernel]:
        load = Load(kernel=kernel, rows=rows, tokens=tokens, **model)
        narrow = packs and 2 * load.head_dim == 128
        yield dataclasses.replace(load, packed=narrow)


def tiny(load: Load) -> Load:
  """As much as an interpreter or a reference can take."""
  rows, tokens = min(load.rows, 3), min(load.tokens, 3 * load.page_tokens - 1)
  return dataclasses.replace(load, rows=rows, tokens=tokens)
