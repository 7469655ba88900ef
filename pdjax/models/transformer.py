"""A Llama-like decoder over a paged cache, in flax nnx.

The model owns weights and nothing else: keys and values live in a pool that
the caller passes in and gets back. It goes through the layers from one to the
next, and XLA updates it in place.

Architecture: Llama 2 (arXiv 2307.09288) with grouped-query attention; rotary
embedding in the rotate-half form (arXiv 2104.09864). A spec may add what its
relatives do: query, key and value biases (Qwen2.5), norms of queries and keys
(Qwen3), a sliding window (Mistral), stretched rotations, experts (Mixtral).

Dimension key: docs/notation.md.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import Mesh

from pdjax import kv, ops
from pdjax import mesh as meshes
from pdjax.models import declared
from pdjax.models.layers import (
    causal_attention,
    logits_of,
    rms_norm,
    rope_tables,
)
from pdjax.models.spec import ModelSpec
from pdjax.models.stack import Stack
from pdjax.models.weight import Source


class Transformer(nnx.Module):
  """Token ids to next-token logits.

  Args:
    spec: a runnable model.
    mesh: of the worker; its size is the tensor-parallel degree.
    source: makes the weights, in the declared shapes and on the mesh.
    kernels: that attend over pages.
  """

  def __init__(
      self,
      spec: ModelSpec,
      mesh: Mesh,
      source: Source,
      kernels: ops.Kernels = ops.XLA,
  ):
    self.spec = spec
    self.mesh = mesh
    self.kernels = kernels
    outer = {
        name: nnx.Param(source(weight))
        for name, weight in declared.outer(spec).items()
    }
    self.embed_VD = outer["embed"]
    self.stack = Stack(spec, mesh, source)
    self.norm_D = outer["norm"]
    if not spec.tie_word_embeddings:
      self.head_VD = outer["head"]

  def __call__(
      self, batch: kv.Batch, pool_LP2KCH: jax.Array
  ) -> tuple[jax.Array, jax.Array]:
    """One pass: (logits_SV in float32, the pool with the new keys and values).

    The pool comes back in the sharding it came in; donate it.
    """
    x_TD, pool = self.through_cache(
        batch, pool_LP2KCH, self.embedded(batch.token_T), self.stack.through
    )
    return self.logits(x_TD[batch.logit_S]), pool

  def through_cache(
      self,
      batch: kv.Batch,
      pool_LP2KCH: jax.Array,
      x_TD: jax.Array,
      walk: Callable,
  ) -> tuple[jax.Array, jax.Array]:
    """Tokens' vectors through layers over the cache: (x_TD, the pool).

    `walk(layer, carry)` goes through some layers or all, as `Stack.through`.
    """
    L, P = pool_LP2KCH.shape[:2]
    rope = rope_tables(batch.position_T, self.spec)
    # All layers' pages as one long pool: layer l's page p is page l * P + p.
    kv_P2KCH = self._pinned(pool_LP2KCH.reshape(L * P, *pool_LP2KCH.shape[2:]))

    def layer(block, number, carry):
      x_TD, kv_P2KCH = carry
      attend = functools.partial(
          self._attention, batch, P * number, kv_P2KCH
      )
      x_TD, kv_P2KCH = block(x_TD, rope, attend)
      return x_TD, self._pinned(kv_P2KCH)

    x_TD, kv_P2KCH = walk(layer, (x_TD, kv_P2KCH))
    pool = kv_P2KCH.reshape(pool_LP2KCH.shape)
    pool = jax.lax.with_sharding_constraint(pool, kv.pool_sharding(self.mesh))
    return x_TD, pool

  def plain(self, token_T: jax.Array) -> jax.Array:
    """One sequence from its first token, without a cache: logits_TV."""
    rope = rope_tables(jnp.arange(token_T.shape[0]), self.spec)
    attend = functools.partial(
        causal_attention, window=self.spec.sliding_window
    )
    x_TD = self.stack.through(
        lambda block, number, x_TD: block(x_TD, rope, attend)[0],
        self.embedded(token_T),
    )
    return self.logits(x_TD)

  def _attention(self, batch, first_page, kv_P2KCH, *qkv):
    """`cached_attention` of each device on its own heads."""
    heads = meshes.partition(("tokens", "heads", "head"))
    pages = meshes.partition(kv.POOL_AXES[1:])
    whole = jax.sharding.PartitionSpec()
    return jax.shard_map(
        functools.partial(
            cached_attention, window=self.spec.sliding_window,
            kernels=self.kernels,
        ),
        mesh=self.mesh,
        in_specs=(whole, whole, pages, heads, heads, heads),
        out_specs=(heads, pages),
        check_vma=False,
    )(batch, first_page, kv_P2KCH, *qkv)

  def embedded(self, token_T: jax.Array) -> jax.Array:
    """What the first layer takes: x_TD."""
    return jax.lax.with_sharding_constraint(
        self.embed_VD[...][token_T], meshes.replicated(self.mesh)
    )

  def logits(self, x_SD: jax.Array) -> jax.Array:
    """Of what the last layer leaves: logits_SV in float32."""
    head = self.embed_VD if self.spec.tie_word_embeddings else self.head_VD
    y_SD = rms_norm(x_SD, self.norm_D[...], self.spec.norm_eps)
    with jax.named_scope("head"):
      logits_SV = logits_of(y_SD, head[...])
    # Split first, whole then: else the head is gathered, not the logits.
    for where in (
        meshes.sharding(self.mesh, ("tokens", "vocab")),
        meshes.replicated(self.mesh),
    ):
      logits_SV = jax.lax.with_sharding_constraint(logits_SV, where)
    return logits_SV

  def _pinned(self, kv_P2KCH: jax.Array) -> jax.Array:
    where = meshes.sharding(self.mesh, kv.POOL_AXES[1:])
    return jax.lax.with_sharding_constraint(kv_P2KCH, where)


def cached_attention(
    batch: kv.Batch,
    first_page: jax.Array,
    kv_P2KCH: jax.Array,
    q_TNH: jax.Array,
    k_TKH: jax.Array,
    v_TKH: jax.Array,
    *,
    window: int | None,
    kernels: ops.Kernels,
) -> tuple[jax.Array, jax.Array]:
  """Writes the tokens' keys and values, then attends: (out_TNH, kv_P2KCH).

  On one device, over its own heads; the layer's pages start at `first_page`.
  Tokens see the last `window` positions, or all of them.
  """
  B, scale = batch.num_decodes, q_TNH.shape[-1] ** -0.5
  kv_P2KCH = ops.kv_write(
      kv_P2KCH, k_TKH, v_TKH, batch.page_T + first_page, batch.cell_T,
      kernels=kernels,
  )
  out = []
  if B:
    out.append(ops.paged_decode(
        q_TNH[:B], kv_P2KCH, batch.decode_page_BM + first_page,
        batch.decode_length_B, scale=scale, window=window, kernels=kernels,
    ))
  if q_TNH.shape[0] > B:
    out.append(ops.chunk_prefill(
        q_TNH[B:], kv_P2KCH, batch.chunk_page_RM + first_page,
        batch.chunk_row_U, batch.position_T[B:], scale=scale, window=window,
        kernels=kernels,
    ))
  return jnp.concatenate(out) if len(out) > 1 else out[0], kv_P2KCH


def pool_config(
    spec: ModelSpec,
    *,
    tp: int,
    num_pages: int,
    page_tokens: int,
    dtype: str,
    packed: bool = False,
) -> kv.KVPoolConfig:
  """The cache of this model; `num_pages` counts the sentinel."""
  return kv.KVPoolConfig(
      num_layers=spec.num_layers,
      num_kv_heads=spec.num_kv_heads,
      head_dim=spec.head_dim,
      num_pages=num_pages,
      page_tokens=page_tokens,
      tp=tp,
      dtype=dtype,
      packed=packed,
  )


def pure(model: Transformer) -> tuple[Callable, Any]:
  """(apply, params): `apply(params, batch, pool) -> (logits_SV, pool)`.

  For jit: the weights are an argument instead of constants in the program.
  """
  graph, params = nnx.split(model)
  return lambda params, batch, pool: nnx.merge(graph, params)(
      batch, pool
  ), params


def plain_forward(model: Transformer, token_T: jax.Array) -> jax.Array:
  """Teacher-forced logits_TV without a cache; compiled once a length."""
  graph, params = nnx.split(model)
  return _plain(graph, params, token_T)


@functools.partial(jax.jit, static_argnums=0)
def _plain(graph, params, token_T: jax.Array) -> jax.Array:
  return nnx.merge(graph, params).plain(token_T)
