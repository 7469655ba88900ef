"""Small attention problems that touch every edge, and how close is close.

A problem's cells that nobody may see hold NaN (the largest value in types
without one), and so does the sentinel page.
"""

import dataclasses
import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from pdjax_kernels import pages

SCALE = 0.3
TOLERANCE = {"float32": 2e-5, "bfloat16": 1e-2}
"""Of the type of the queries."""


def close(got, want, dtype: str) -> None:
  """Equal within the tolerance of a type, -inf and all."""
  got, want = (np.asarray(x, np.float32) for x in (got, want))
  bound = TOLERANCE[dtype]
  np.testing.assert_allclose(got, want, atol=bound, rtol=bound)


@functools.cache
def jitted(function, **static):
  """Compiled once for all tests whose arrays have the same shapes."""
  return jax.jit(functools.partial(function, **static))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shape:
  """Sizes and types; the features of a case are the test's business."""

  N: int = 4
  K: int = 2
  H: int = 128
  C: int = 8
  M: int = 5
  dtype: str = "float32"
  kv_dtype: str = "float32"
  packed: bool = False

  @property
  def step(self) -> float:
    """Between stored values, where keys and values are integers."""
    return 1 / 16 if self.kv_dtype == "int8" else 1.0

  @property
  def lengths(self) -> tuple[int, ...]:
    """Empty, one token, on and around page boundaries, full."""
    C, M = self.C, self.M
    return (0, 1, C - 1, C, C + 1, 2 * C, 0, 3 * C - 1, M * C)


def cache(shape: Shape, table_BM: np.ndarray, length_B, seed=0) -> jax.Array:
  """Pages with content where a sequence has tokens, NaN elsewhere."""
  rng = np.random.default_rng(seed)
  size = (int(table_BM.max()) + 2, 2, shape.K, shape.C, shape.H)
  kv_P2KCH = rng.standard_normal(size, np.float32)
  live_PC = np.zeros((size[0], shape.C), bool)
  for page_M, length in zip(table_BM, length_B, strict=True):
    position = np.arange(length)
    live_PC[page_M[position // shape.C], position % shape.C] = True
  rubbish = 100 if shape.kv_dtype == "int8" else np.nan
  kv_P2KCH = np.where(
      live_PC[:, None, None, :, None], kv_P2KCH / shape.step, rubbish
  )
  kv = jnp.asarray(kv_P2KCH).astype(shape.kv_dtype)
  return pages.pack(kv) if shape.packed else kv


def table(shape: Shape, rows: int, seed: int = 0) -> np.ndarray:
  """Pages of each row in random order; page 0 is nobody's."""
  places = np.random.default_rng(seed).permutation(rows * shape.M) + 1
  return places.reshape(rows, shape.M).astype(np.int32)


def queries(shape: Shape, rows: int, seed: int = 1) -> jax.Array:
  rng = np.random.default_rng(seed)
  q_BNH = shape.step * rng.standard_normal((rows, shape.N, shape.H), np.float32)
  return jnp.asarray(q_BNH).astype(shape.dtype)


def packed_tokens(
    parts: Sequence[tuple[int | None, int]]
) -> tuple[np.ndarray, np.ndarray]:
  """(row_U, position_U) of (first position, tokens); None is padding.

  >>> packed_tokens(((5, 2), (None, 1), (0, 1)))
  (array([ 0,  0, -1,  1], dtype=int32), array([5, 6, 0, 0], dtype=int32))
  """
  row_U, position_U, row = [], [], 0
  for first, n in parts:
    row_U += [-1 if first is None else row] * n
    position_U += [0] * n if first is None else range(first, first + n)
    row += first is not None
  return np.array(row_U, np.int32), np.array(position_U, np.int32)


def gathered(
    kv_P2KCH: jax.Array, page_BM: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
  """Keys and values of a pair's pages, zeros for NaN: k_BSKH, v_BSKH."""
  kv_BM2KCH = np.nan_to_num(np.asarray(kv_P2KCH)[page_BM])
  B, M, _, K, C, H = kv_BM2KCH.shape
  k_BSKH, v_BSKH = (
      kv_BM2KCH[:, :, side].swapaxes(2, 3).reshape(B, M * C, K, H)
      for side in (0, 1)
  )
  return k_BSKH, v_BSKH
