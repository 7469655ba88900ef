"""`chunk_prefill` for NVIDIA GPUs: Triton.

A program is a block of rows of queries that share a kv head, G a token. Its
tokens may belong to several requests, whose contexts it goes through one after
the other with one running softmax: scores of other requests' tokens are
masked. Tiles that every row sees whole are not masked at all.

Dimension key: docs/notation.md; J = blocks of rows, W = width of a cell, X =
rows of a block.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu

from pdjax_kernels import cost, pages, tiles
from pdjax_kernels.chunk_prefill.blocks import TritonBlocks, triton_blocks
from pdjax_kernels.paged_decode.reference import first_seen
from pdjax_kernels.paged_decode.triton import supports as supports
from pdjax_kernels.spec import Spec


def chunk_prefill(
    q_UNH: jax.Array,
    kv_P2KCH: jax.Array,
    page_RM: jax.Array,
    row_U: jax.Array,
    position_U: jax.Array,
    *,
    scale: float,
    window: int | None = None,
    soft_cap: float | None = None,
    blocks: TritonBlocks | None = None,
    device: str | None = None,
    interpret: Any = False,
) -> tuple[jax.Array, jax.Array]:
  """See reference.py; what comes after that changes no result.

  Blocks are the given, the measured of a kind of `device`, or a guess.
  """
  (U, N, H), (_, _, K, C, W) = q_UNH.shape, kv_P2KCH.shape
  if U == 0:
    return q_UNH, jnp.zeros((0, N))
  G, (R, M) = N // K, page_RM.shape
  blocks = blocks or triton_blocks(Spec.of(q_UNH, kv_P2KCH), device)
  J = pl.cdiv(U * G, blocks.rows)
  end_U = jnp.where(row_U < 0, 0, position_U + 1)
  out_QW, lse_Q = pl.pallas_call(
      functools.partial(
          _kernel, K=K, C=C, M=M, R=R, G=G, X=blocks.rows, S=blocks.tokens,
          scale=scale, windowed=window is not None, soft_cap=soft_cap,
      ),
      out_shape=(
          jax.ShapeDtypeStruct((U * N, W), q_UNH.dtype),
          jax.ShapeDtypeStruct((U * N,), jnp.float32),
      ),
      grid=(J, K),
      compiler_params=plgpu.CompilerParams(
          num_warps=blocks.warps, num_stages=blocks.stages
      ),
      cost_estimate=cost.chunk_prefill(q_UNH, kv_P2KCH, page_RM, J),
      interpret=interpret,
      name="chunk_prefill",
  )(
      pages.widened(q_UNH, kv_P2KCH).reshape(U * N, W), tiles.flat(kv_P2KCH),
      page_RM.reshape(-1), row_U, first_seen(end_U, None, window), end_U,
  )
  return out_QW[:, W - H :].reshape(U, N, H), lse_Q.reshape(U, N)


def _kernel(
    q_ref, kv_ref, page_ref, row_ref, first_ref, end_ref, out_ref, lse_ref, *,
    K, C, M, R, G, X, S, scale, windowed, soft_cap,
):
  # The last blocks of a prompt see most: they start first.
  j, k = pl.num_programs(0) - 1 - pl.program_id(0), pl.program_id(1)
  U, W = row_ref.shape[0], q_ref.shape[1]
  x_X = j * X + jnp.arange(X, dtype=jnp.int32)
  token_X, mine_X = jax.lax.div(x_X, G), x_X < U * G
  query_X = token_X * (K * G) + k * G + jax.lax.rem(x_X, G)
  q_XW = tiles.rows(q_ref, (query_X,), W, mine_X)
  row_X, first_X, end_X = (
      plgpu.load(ref.at[token_X], mask=mine_X, other=none)
      for ref, none in ((row_ref, -1), (first_ref, 0), (end_ref, 0))
  )

  def visit(r, state):
    context = tiles.Context(kv_ref, page_ref, r * M, k, K, C)
    sights = _Sights(
        jnp.where(row_X == r, first_X, 0), jnp.where(row_X == r, end_X, 0)
    )
    return sights.attend(state, q_XW, context, S, scale, windowed, soft_cap)

  least = jnp.min(jnp.where(row_X < 0, R, row_X))
  state = jax.lax.fori_loop(
      least, jnp.max(row_X) + 1, visit, tiles.nothing(X, W)
  )
  out_XW, lse_X = state.result()
  # Rows that are padding lie past the end, where nothing is stored.
  store_X = jnp.where(mine_X, query_X, out_ref.shape[0])
  tiles.put_rows(out_ref, (store_X,), out_XW, mine_X)
  plgpu.store(lse_ref.at[store_X], lse_X, mask=mine_X)


class _Sights(NamedTuple):
  """What each row of queries sees of one request's context."""

  first_X: jax.Array
  end_X: jax.Array
  """0 where the row is another request's."""

  def attend(
      self, state, q_XW, context, S, scale, windowed, soft_cap
  ) -> tiles.State:
    """The state after this context."""
    X = q_XW.shape[0]
    end = jnp.max(self.end_X)
    begin = jnp.min(jnp.where(self.end_X > 0, self.first_X, end))

    def add(i, state, masked):
      at = begin + i * S
      k_SW, v_SW = context.cells(at, S, end if masked else None)
      seen_XS = self._seen(at, X, S) if masked else None
      return state.add(q_XW, k_SW, v_SW, seen_XS, scale, soft_cap)

    some, whole = (functools.partial(add, masked=x) for x in (True, False))
    last = pl.cdiv(end - begin, S)
    opened = pl.cdiv(jnp.max(self.first_X) - begin, S) if windowed else 0
    closed = jnp.maximum(jnp.min(self.end_X) - begin, 0) // S
    closed = jnp.maximum(closed, opened)
    if windowed:
      state = jax.lax.fori_loop(0, opened, some, state)
    state = jax.lax.fori_loop(opened, closed, whole, state)
    return jax.lax.fori_loop(closed, last, some, state)

  def _seen(self, at, X: int, S: int) -> jax.Array:
    position_XS = at + jax.lax.broadcasted_iota(jnp.int32, (X, S), 1)
    return (position_XS >= self.first_X[:, None]) & (
        position_XS < self.end_X[:, None]
    )
