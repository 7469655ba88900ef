"""Attention over cached tokens a tile at a time, as the Triton kernels do it.

A tile is S consecutive positions of one sequence, whatever pages they lie in:
each position's page is looked up on its own, so tiles need not know how long
pages are. States of the running softmax (arXiv 2205.14135) are values; powers
are of two, as the hardware has them.

Dimension key: docs/notation.md; W = width of a cell, X = rows of queries.
"""

import dataclasses
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.experimental.pallas import triton as plgpu

MASKED = -1e30
"""A finite score, so that a row with nothing to see makes no NaN."""

LEAST_ROWS = 16
"""Of a product on tensor cores."""

_LOG2_E = math.log2(math.e)


def power_of_two(least: int) -> int:
  """The smallest that is no less: shapes in a Triton kernel are such.

  >>> power_of_two(5)
  8
  """
  return 1 << max(0, least - 1).bit_length()


def flat(kv_P2KCH: jax.Array) -> jax.Array:
  """The cache as the kernels index it, kv_PQW: Q = all cells of a page.

  Raises:
    ValueError: JAX would compute 32-bit offsets that overflow.
  """
  P, pair, K, C, W = kv_P2KCH.shape
  if kv_P2KCH.size > 2**31 and kv_P2KCH.nbytes <= 2**32:
    # Pallas turns to 64-bit offsets by the bytes of an array, though it is
    # elements that they count.
    raise ValueError(
        f"a cache of {kv_P2KCH.size} values of 1 byte: between 2 and 4 GiB"
        " Pallas on Triton would address it wrongly; make it larger or smaller"
    )
  return kv_P2KCH.reshape(P, pair * K * C, W)


@dataclasses.dataclass(frozen=True)
class Context:
  """One sequence's cells in one kv head."""

  kv_ref: Any
  """kv_PQW in device memory."""
  page_ref: Any
  """The page tables of all sequences, one after the other."""
  table: Any
  """Where in them this sequence's begins."""
  head: Any
  K: int
  C: int

  def cells(
      self, at, S: int, end=None
  ) -> tuple[jax.Array, jax.Array]:
    """Keys and values of positions at .. at + S: k_SW, v_SW, as stored.

    Zeros from position `end` on, unread.
    """
    _, Q, W = self.kv_ref.shape
    position_S = at + jnp.arange(S, dtype=jnp.int32)
    held_S = None if end is None else position_S < end
    page_S = plgpu.load(
        self.page_ref.at[self.table + jax.lax.div(position_S, self.C)],
        mask=held_S, other=None if end is None else 0,
    )
    key_S = self.head * self.C + jax.lax.rem(position_S, self.C)
    k_SW = rows(self.kv_ref, (page_S, key_S), W, held_S)
    if Q == self.K * self.C:  # packed: the same cells
      return k_SW, k_SW
    value_S = key_S + self.K * self.C
    return k_SW, rows(self.kv_ref, (page_S, value_S), W, held_S)


def rows(
    ref, index: tuple[jax.Array, ...], W: int, held_S: jax.Array | None = None
) -> jax.Array:
  """Rows of an array in device memory: x_SW, zeros where not held."""
  mask = None if held_S is None else _over_lanes(held_S, W)
  other = None if held_S is None else jnp.zeros((), ref.dtype)
  return plgpu.load(ref.at[_lanes(index, W)], mask=mask, other=other)


def put_rows(ref, index: tuple[Any, ...], x_SW: jax.Array, held_S) -> None:
  """Stores rows of an array in device memory where they are held."""
  W = x_SW.shape[-1]
  plgpu.store(
      ref.at[_lanes(index, W)], x_SW.astype(ref.dtype),
      mask=_over_lanes(held_S, W),
  )


def _lanes(index: tuple[Any, ...], W: int) -> tuple[jax.Array, ...]:
  """Index arrays of whole rows: only such have an interpreter."""
  lane_SW = jnp.broadcast_to(
      jnp.arange(W, dtype=jnp.int32), (index[-1].shape[0], W)
  )
  return (*(_over_lanes(x_S, W) for x_S in index), lane_SW)


def _over_lanes(x_S: jax.Array, W: int) -> jax.Array:
  return jnp.broadcast_to(x_S[:, None], (x_S.shape[0], W))


class State(NamedTuple):
  """A running softmax of rows of queries, in float32."""

  top_X: jax.Array
  """Largest score so far, as a power of two."""
  sum_X: jax.Array
  out_XW: jax.Array

  def add(
      self, q_XW: jax.Array, k_SW: jax.Array, v_SW: jax.Array,
      seen_XS: jax.Array | None, scale: float, soft_cap: float | None,
  ) -> "State":
    """With a tile more; `seen_XS` None is all of it.

    A row that has seen nothing so far holds rubbish, which the first score
    it sees multiplies by zero.
    """
    score_XS = _product(q_XW, _as(k_SW, q_XW.dtype), ((1,), (1,)))
    score_XS = _scaled(score_XS, scale, soft_cap)
    if seen_XS is not None:
      score_XS = jnp.where(seen_XS, score_XS, MASKED)
    new_X = jnp.maximum(self.top_X, score_XS.max(axis=1))
    keep_X = jnp.exp2(self.top_X - new_X)
    weight_XS = jnp.exp2(score_XS - new_X[:, None])
    v_SW = _as(v_SW, q_XW.dtype)
    return State(
        new_X,
        self.sum_X * keep_X + weight_XS.sum(axis=1),
        self.out_XW * keep_X[:, None]
        + _product(weight_XS.astype(v_SW.dtype), v_SW, ((1,), (0,))),
    )

  def result(self) -> tuple[jax.Array, jax.Array]:
    """(out_XW, lse_X): zeros and -inf for rows that saw nothing."""
    seen_X = self.top_X > 0.5 * MASKED
    sum_X = jnp.where(seen_X, self.sum_X, 1.0)
    out_XW = jnp.where(seen_X[:, None], self.out_XW / sum_X[:, None], 0.0)
    lse_X = self.top_X / _LOG2_E + jnp.log(sum_X)
    return out_XW, jnp.where(seen_X, lse_X, -jnp.inf)


def nothing(X: int, W: int) -> State:
  """Of rows that have seen nothing yet."""
  return State(
      jnp.full((X,), MASKED, jnp.float32),
      jnp.zeros((X,), jnp.float32),
      jnp.zeros((X, W), jnp.float32),
  )


def _scaled(
    score_XS: jax.Array, scale: float, soft_cap: float | None
) -> jax.Array:
  if soft_cap is None:
    return score_XS * (scale * _LOG2_E)
  return (soft_cap * _LOG2_E) * jnp.tanh(score_XS * (scale / soft_cap))


def _product(a: jax.Array, b: jax.Array, contract) -> jax.Array:
  """A float32 product; exact to float32 where the operands are."""
  highest = jax.lax.Precision.HIGHEST if a.dtype == jnp.float32 else None
  return jax.lax.dot_general(
      a, b, (contract, ((), ())), precision=highest,
      preferred_element_type=jnp.float32,
  )


def _as(x_SW: jax.Array, dtype) -> jax.Array:
  """Cells in the type of the queries; narrow types widen to float32 first."""
  if x_SW.dtype == dtype:
    return x_SW
  return x_SW.astype(jnp.float32).astype(dtype)
