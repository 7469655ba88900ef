"""One forward pass with sampling, as a function of arrays: what is compiled.

Decode rows live on the device from step to step: a pass returns them fed with
their next token, and rows that are done come back empty. Prompt rows come from
the host. Results are one array, so that a step costs one copy to the host.

Dimension key: docs/notation.md; S = B + R rows of results.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from pdjax.engine import sampling
from pdjax.engine.sampling import Draws
from pdjax.kv import Batch
from pdjax.pages import SENTINEL_PAGE

Apply = Callable[[Any, Batch, jax.Array], tuple[jax.Array, jax.Array]]
"""(params, batch, pool) -> (logits_SV, pool)."""


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, slots=True)
class Feed:
  """What changes with every decode step; all int32."""

  token_B: jax.Array
  length_B: jax.Array
  """Context with the token being fed; 0 is an empty or ended row."""
  left_B: jax.Array
  """Tokens to the end of the answer."""


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, slots=True)
class Rows:
  """What stays the same over a decode run."""

  page_BM: jax.Array
  """i32"""
  draws_B: Draws | None


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, slots=True)
class Prompts:
  """Packed chunks of up to R requests; int32 but for `draws_R`."""

  token_U: jax.Array
  position_U: jax.Array
  row_U: jax.Array
  """Chunk of each token; -1 is padding."""
  page_RM: jax.Array
  last_R: jax.Array
  """Place in U of a chunk's last token."""
  length_R: jax.Array
  """Context with the chunk; 0 where no token is wanted."""
  left_R: jax.Array
  draws_R: Draws | None


@dataclasses.dataclass(frozen=True, slots=True)
class Passes:
  """The passes of one model; everything here is static."""

  apply: Apply
  page_tokens: int
  end_ids: tuple[int, ...]

  def decode(
      self, params, pool: jax.Array, feed: Feed, rows: Rows
  ) -> tuple[jax.Array, Feed, jax.Array]:
    """One token of every row: (pool, next feed, result_3B)."""
    M = rows.page_BM.shape[1]
    none = jnp.zeros((0,), jnp.int32)
    empty = Prompts(
        none, none, none, jnp.zeros((0, M), jnp.int32), none, none, none,
        jax.tree.map(lambda draws: draws[:0], rows.draws_B),
    )
    return self.mixed(params, pool, feed, rows, empty)

  def mixed(
      self, params, pool: jax.Array, feed: Feed, rows: Rows, prompts: Prompts
  ) -> tuple[jax.Array, Feed, jax.Array]:
    """A pass over decodes and chunks: (pool, next feed, result_3S).

    Result rows: token ids, bits of the float32 gaps, 1 where an answer ends.
    """
    logits_SV, pool = self.apply(
        params, batch_of(feed, rows, prompts, self.page_tokens), pool
    )
    length_S = jnp.concatenate([feed.length_B, prompts.length_R])
    left_S = jnp.concatenate([feed.left_B, prompts.left_R])
    draws_S = jax.tree.map(
        lambda *parts: jnp.concatenate(parts), rows.draws_B, prompts.draws_R
    )
    token_S, done_S, result_3S = scored(
        logits_SV, draws_S, length_S, left_S, self.end_ids
    )
    B = feed.token_B.shape[0]
    return pool, _next_feed(feed, token_S[:B], done_S[:B]), result_3S


def scored(
    logits_SV: jax.Array,
    draws_S: Draws | None,
    length_S: jax.Array,
    left_S: jax.Array,
    end_ids: tuple[int, ...],
) -> tuple[jax.Array, jax.Array, jax.Array]:
  """The rows' tokens, whether they end an answer, and both with the gaps."""
  with jax.named_scope("sampling"):
    scores = sampling.score(logits_SV, draws_S, length_S)
    token_S, gap_S = sampling.choose(scores)
  ended_S = (left_S <= 1) | sampling.is_end(token_S, end_ids)
  done_S = (length_S > 0) & ended_S
  bits_S = jax.lax.bitcast_convert_type(gap_S, jnp.int32)
  result_3S = jnp.stack([token_S, bits_S, done_S.astype(jnp.int32)])
  return token_S, done_S, result_3S


def _next_feed(feed: Feed, token_B: jax.Array, done_B: jax.Array) -> Feed:
  goes_on_B = (feed.length_B > 0) & ~done_B
  return Feed(
      token_B=jnp.where(goes_on_B, token_B, 0),
      length_B=jnp.where(goes_on_B, feed.length_B + 1, 0),
      left_B=feed.left_B - 1,
  )


def batch_of(
    feed: Feed, rows: Rows, prompts: Prompts, page_tokens: int
) -> Batch:
  """The model's view: where each token stands, and where it is written."""
  B = feed.token_B.shape[0]
  position_B = jnp.maximum(feed.length_B - 1, 0)
  page_B = _page_of(rows.page_BM, jnp.arange(B), position_B, page_tokens)
  live_B = feed.length_B > 0
  page_U = _page_of(
      prompts.page_RM, prompts.row_U, prompts.position_U, page_tokens
  )
  position_T = jnp.concatenate([position_B, prompts.position_U])
  live_T = jnp.concatenate([live_B, prompts.row_U >= 0])
  page_T = jnp.concatenate([page_B, page_U])
  return Batch(
      token_T=jnp.concatenate([feed.token_B, prompts.token_U]),
      position_T=position_T,
      page_T=jnp.where(live_T, page_T, SENTINEL_PAGE),
      cell_T=position_T % page_tokens,
      decode_page_BM=rows.page_BM,
      decode_length_B=feed.length_B,
      chunk_page_RM=prompts.page_RM,
      chunk_row_U=prompts.row_U,
      logit_S=jnp.concatenate(
          [jnp.arange(B, dtype=jnp.int32), B + prompts.last_R]
      ),
  )


def _page_of(
    page_RM: jax.Array, row_T: jax.Array, position_T: jax.Array,
    page_tokens: int,
) -> jax.Array:
  """Physical page of each token; anything for padding rows."""
  if not page_RM.shape[0]:
    return jnp.zeros(row_T.shape, jnp.int32)
  return page_RM[row_T, position_T // page_tokens]
