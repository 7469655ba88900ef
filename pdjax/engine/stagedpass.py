"""A pass over prompt chunks in stages of some layers each: what is compiled.

Three programs: tokens to vectors, a stage, vectors to tokens. The stage is run
once for every group of layers; between two of them pages may be copied out.

Dimension key: docs/notation.md.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from pdjax.engine import packing
from pdjax.engine.passes import Prompts, batch_of, scored
from pdjax.kv import Batch
from pdjax.models.staged import Staged


@dataclasses.dataclass(frozen=True, slots=True)
class StagedPasses:
  """Of one model; everything here is static."""

  staged: Staged
  unflatten: Callable[[Any], Any]
  """Weights from the list of them."""
  page_tokens: int
  end_ids: tuple[int, ...]

  def weights(self, params) -> list[Any]:
    """Of each stage."""
    return self.staged.weights(self.unflatten(params))

  def begin(self, params, prompts: Prompts) -> jax.Array:
    return self.staged.begin(self.unflatten(params), prompts.token_U)

  def stage(
      self,
      weights,
      pool: jax.Array,
      x_UD: jax.Array,
      prompts: Prompts,
      first_layer: jax.Array,
  ) -> tuple[jax.Array, jax.Array]:
    """(pool, x_UD); `weights` are those of the stage."""
    batch = self._batch(prompts)
    x_UD, pool = self.staged.stage(weights, batch, pool, x_UD, first_layer)
    return pool, x_UD

  def end(self, params, x_UD: jax.Array, prompts: Prompts) -> jax.Array:
    """result_3R, as of `Passes.mixed`."""
    logits_RV = self.staged.end(self.unflatten(params), x_UD[prompts.last_R])
    *_, result_3R = scored(
        logits_RV, prompts.draws_R, prompts.length_R, prompts.left_R,
        self.end_ids,
    )
    return result_3R

  def _batch(self, prompts: Prompts) -> Batch:
    M = prompts.page_RM.shape[1]
    feed = jax.tree.map(jnp.asarray, packing.feed_of((), 0))
    rows = packing.rows_of((), 0, M)
    return batch_of(feed, rows, prompts, self.page_tokens)
