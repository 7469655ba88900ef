"""One layer of a Llama, and the formulas it is made of.

A layer gets its attention from the caller, so that the same weights serve a
paged cache and a plain forward pass.

Dimension key: docs/notation.md.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import Mesh

from pdjax import mesh as meshes
from pdjax.models.spec import ModelSpec
from pdjax.models.weight import Source, Weight

Attend = Callable[[jax.Array, jax.Array, jax.Array], tuple[jax.Array, Any]]
"""(q_TNH, k_TKH, v_TKH) -> (out_TNH, what else the layer is to return)."""


class Block(nnx.Module):
  """One layer: attention, then the feed-forward block."""

  def __init__(self, spec: ModelSpec, mesh: Mesh, source: Source):
    D, F, H = spec.hidden_size, spec.ffn_size, spec.head_dim
    N, K = spec.num_heads, spec.num_kv_heads
    copies = max(1, mesh.size // K)

    def weight(name, shape, axes, fan_in, copies=1):
      return nnx.Param(source(Weight(
          name=name, shape=shape, axes=axes, fan_in=fan_in, copies=copies
      )))

    into_kv = ((D, K * copies, H), ("embed", "kv_heads", "head"), D, copies)
    into_ffn = ((D, F), ("embed", "ffn"), D)
    self.attention_norm_D = weight("attention_norm", (D,), ("embed",), None)
    self.q_DNH = weight("q", (D, N, H), ("embed", "heads", "head"), D)
    self.k_DKH = weight("k", *into_kv)
    self.v_DKH = weight("v", *into_kv)
    self.o_NHD = weight("o", (N, H, D), ("heads", "head", "embed"), N * H)
    self.ffn_norm_D = weight("ffn_norm", (D,), ("embed",), None)
    self.gate_DF = weight("gate", *into_ffn)
    self.up_DF = weight("up", *into_ffn)
    self.down_FD = weight("down", (F, D), ("ffn", "embed"), F)
    self.norm_eps = spec.norm_eps
    self.mesh = mesh

  def __call__(
      self, x_TD: jax.Array, rope: tuple[jax.Array, jax.Array], attend: Attend
  ) -> tuple[jax.Array, Any]:
    """The layer's output, and what `attend` returned beside its own."""
    y_TD = rms_norm(x_TD, self.attention_norm_D[...], self.norm_eps)
    q_TNH = self._split(jnp.einsum("TD,DNH->TNH", y_TD, self.q_DNH[...]))
    k_TKH = self._split(jnp.einsum("TD,DKH->TKH", y_TD, self.k_DKH[...]))
    v_TKH = self._split(jnp.einsum("TD,DKH->TKH", y_TD, self.v_DKH[...]))
    q_TNH, k_TKH = rotate(q_TNH, *rope), rotate(k_TKH, *rope)
    a_TNH, kept = attend(q_TNH, k_TKH, v_TKH)
    x_TD += self._sum(jnp.einsum("TNH,NHD->TD", a_TNH, self.o_NHD[...]))
    y_TD = rms_norm(x_TD, self.ffn_norm_D[...], self.norm_eps)
    gate_TF, up_TF = y_TD @ self.gate_DF[...], y_TD @ self.up_DF[...]
    y_TF = jax.nn.silu(gate_TF) * up_TF
    return x_TD + self._sum(y_TF @ self.down_FD[...]), kept

  def _split(self, x_TNH: jax.Array) -> jax.Array:
    where = meshes.sharding(self.mesh, ("tokens", "heads", "head"))
    return jax.lax.with_sharding_constraint(x_TNH, where)

  def _sum(self, x_TD: jax.Array) -> jax.Array:
    """Partial sums of the devices become whole: one all-reduce."""
    return jax.lax.with_sharding_constraint(
        x_TD, meshes.replicated(self.mesh)
    )


def causal_attention(
    q_TNH: jax.Array, k_TKH: jax.Array, v_TKH: jax.Array
) -> tuple[jax.Array, None]:
  """Every token over itself and those before it."""
  T, N, H = q_TNH.shape
  K = k_TKH.shape[1]
  q_TKGH = q_TNH.reshape(T, K, N // K, H).astype(jnp.float32)
  k_TKH, v_TKH = k_TKH.astype(jnp.float32), v_TKH.astype(jnp.float32)
  score_KGTS = jnp.einsum("TKGH,SKH->KGTS", q_TKGH, k_TKH) * H**-0.5
  seen_TS = jnp.tril(jnp.ones((T, T), bool))
  weight_KGTS = jax.nn.softmax(
      jnp.where(seen_TS, score_KGTS, -jnp.inf), axis=-1
  )
  out_TKGH = jnp.einsum("KGTS,SKH->TKGH", weight_KGTS, v_TKH)
  return out_TKGH.reshape(T, N, H).astype(q_TNH.dtype), None


def rms_norm(x_TD: jax.Array, scale_D: jax.Array, eps: float) -> jax.Array:
  """x / sqrt(mean(x^2) + eps) * scale, in float32 (arXiv 1910.07467)."""
  wide_TD = x_TD.astype(jnp.float32)
  power_T1 = jnp.mean(jnp.square(wide_TD), axis=-1, keepdims=True)
  unit_TD = wide_TD * jax.lax.rsqrt(power_T1 + eps)
  return unit_TD.astype(x_TD.dtype) * scale_D


def rope_tables(
    position_T: jax.Array, spec: ModelSpec
) -> tuple[jax.Array, jax.Array]:
  """Cosine and sine, [T, 1, H / 2] in float32, of each token's angles."""
  half = spec.head_dim // 2
  exponent = jnp.arange(half, dtype=jnp.float32) / half
  frequency = jnp.float32(spec.rope_theta or 0) ** -exponent
  angle = position_T.astype(jnp.float32)[:, None, None] * frequency
  return jnp.cos(angle), jnp.sin(angle)


def rotate(x_TNH: jax.Array, cos: jax.Array, sin: jax.Array) -> jax.Array:
  """Turns the pairs (h, h + H / 2) of each head by their angles."""
  a, b = jnp.split(x_TNH.astype(jnp.float32), 2, axis=-1)
  turned = jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)
  return turned.astype(x_TNH.dtype)
