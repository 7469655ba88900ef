"""A running softmax in the fast memory of a TPU, and the products around it.

The running maximum, sum and output of some rows of queries, updated a block of
context at a time (arXiv 2205.14135).

Dimension key: docs/notation.md; W = width of a cell, X = rows of queries.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from pdjax_kernels import pages

MASKED = -1e30
"""A finite score, so that a row with nothing to see makes no NaN."""


def scratch(shape: tuple[int, ...], W: int) -> list[Any]:
  """Memory of a `State` over rows of that shape."""
  return [
      pltpu.VMEM((*shape, pages.LANES), jnp.float32),
      pltpu.VMEM((*shape, pages.LANES), jnp.float32),
      pltpu.VMEM((*shape, W), jnp.float32),
  ]


@dataclasses.dataclass(frozen=True)
class State:
  """Of all heads' rows; a number a row is repeated over the lanes."""

  top_ref: Any
  sum_ref: Any
  out_ref: Any

  def clear(self) -> None:
    self.top_ref[...] = jnp.full_like(self.top_ref, MASKED)
    self.sum_ref[...] = jnp.zeros_like(self.sum_ref)
    self.out_ref[...] = jnp.zeros_like(self.out_ref)

  def attend(
      self, k, q_XW: jax.Array, block_ref, seen_XS: jax.Array, scale: float,
      soft_cap: float | None,
  ) -> None:
    """Head k's queries over a block of pages; `seen_XS` may have one row."""
    key_SW = _cells(block_ref, 0, k, q_XW.dtype)
    value_SW = _cells(block_ref, block_ref.shape[1] - 1, k, q_XW.dtype)
    score_XS = _scores(q_XW, key_SW, scale, soft_cap)
    self._add(k, jnp.where(seen_XS, score_XS, MASKED), value_SW)

  def _add(self, k, score_XS: jax.Array, value_SW: jax.Array) -> None:
    """A block of context for head k; unseen scores are MASKED."""
    top_X1 = self.top_ref[k][:, :1]
    new_X1 = jnp.maximum(top_X1, score_XS.max(axis=-1, keepdims=True))
    keep_X1 = jnp.exp(top_X1 - new_X1)
    weight_XS = jnp.where(
        score_XS > 0.5 * MASKED, jnp.exp(score_XS - new_X1), 0
    )
    sum_X1 = self.sum_ref[k][:, :1] * keep_X1
    sum_X1 += weight_XS.sum(axis=-1, keepdims=True)
    self.top_ref[k] = jnp.broadcast_to(new_X1, self.top_ref.shape[1:])
    self.sum_ref[k] = jnp.broadcast_to(sum_X1, self.sum_ref.shape[1:])
    self.out_ref[k] = self.out_ref[k] * keep_X1 + _product(
        weight_XS.astype(value_SW.dtype), value_SW, ((1,), (0,))
    )

  def result(self) -> tuple[jax.Array, jax.Array]:
    """(outputs, log of the sums as one more axis of length 1)."""
    total = self.sum_ref[...][..., :1]
    lse = self.top_ref[...][..., :1] + jnp.log(total)
    return self.out_ref[...] / jnp.maximum(total, 1e-30), lse


def _product(a: jax.Array, b: jax.Array, contract) -> jax.Array:
  """A float32 product; exact to float32 where the operands are."""
  highest = jax.lax.Precision.HIGHEST if a.dtype == jnp.float32 else None
  return jax.lax.dot_general(
      a, b, (contract, ((), ())), precision=highest,
      preferred_element_type=jnp.float32,
  )


def _scores(
    q_XW: jax.Array, key_SW: jax.Array, scale: float, soft_cap: float | None
) -> jax.Array:
  score_XS = _product(q_XW, key_SW, ((1,), (1,))) * scale
  if soft_cap is None:
    return score_XS
  return soft_cap * jnp.tanh(score_XS / soft_cap)


def _cells(block_ref, side: int, k, dtype) -> jax.Array:
  """Keys or values of head k of a block of pages: x_SW."""
  Y, _, _, C, W = block_ref.shape
  x_YCW = block_ref[:, side, k]
  if x_YCW.dtype == dtype:
    return x_YCW.reshape(Y * C, W)
  return x_YCW.astype(jnp.float32).reshape(Y * C, W).astype(dtype)


def zero_unseen(value_ref, at, first, end) -> None:
  """Clears cells that nobody sees: 0 * NaN would be NaN."""
  Y, _, C, _ = value_ref.shape

  @pl.when((at < first) | (at + Y * C > end))
  def _():
    shape = value_ref.shape
    position = (
        at
        + C * jax.lax.broadcasted_iota(jnp.int32, shape, 0)
        + jax.lax.broadcasted_iota(jnp.int32, shape, 2)
    )
    seen = (position >= first) & (position < end)
    value = value_ref[...]
    value_ref[...] = jnp.where(seen, value, jnp.zeros_like(value))
