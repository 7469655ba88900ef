"""One layer of a Llama, and the formulas it is made of.

A layer gets its attention from the caller, so that the same weights serve a
paged cache and a plain forward pass.

Dimension key: docs/notation.md.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import Mesh

from pdjax import mesh as meshes
from pdjax.models import declared, rope
from pdjax.models.mlp import MixtureOfExperts, SwiGLU
from pdjax.models.spec import ModelSpec
from pdjax.models.weight import Source

Attend = Callable[[jax.Array, jax.Array, jax.Array], tuple[jax.Array, Any]]
"""(q_TNH, k_TKH, v_TKH) -> (out_TNH, what else the layer is to return)."""


class Block(nnx.Module):
  """One layer: attention, then the feed-forward block."""

  def __init__(self, spec: ModelSpec, mesh: Mesh, source: Source):
    # The largest first: what a source needs to make it is then needed while
    # little else is there.
    largest = sorted(
        declared.layer(spec, mesh.size).values(),
        key=lambda weight: -math.prod(weight.shape),
    )
    weights = {weight.name: nnx.Param(source(weight)) for weight in largest}
    self.attention_norm_D = weights["attention_norm"]
    self.q_DNH, self.k_DKH = weights["q"], weights["k"]
    self.v_DKH, self.o_NHD = weights["v"], weights["o"]
    self.q_bias_NH = weights.get("q_bias")
    self.k_bias_KH = weights.get("k_bias")
    self.v_bias_KH = weights.get("v_bias")
    self.q_norm_H = weights.get("q_norm")
    self.k_norm_H = weights.get("k_norm")
    self.ffn_norm_D = weights["ffn_norm"]
    if spec.experts is None:
      self.mlp = SwiGLU(weights)
    else:
      self.mlp = MixtureOfExperts(weights, spec.experts)
    self.norm_eps = spec.norm_eps
    self.mesh = mesh

  def __call__(
      self, x_TD: jax.Array, rope: tuple[jax.Array, jax.Array], attend: Attend
  ) -> tuple[jax.Array, Any]:
    """The layer's output, and what `attend` returned beside its own."""
    y_TD = rms_norm(x_TD, self.attention_norm_D[...], self.norm_eps)
    with jax.named_scope("qkv"):
      q_TNH = self._heads(y_TD, self.q_DNH, self.q_bias_NH, self.q_norm_H)
      k_TKH = self._heads(y_TD, self.k_DKH, self.k_bias_KH, self.k_norm_H)
      v_TKH = self._heads(y_TD, self.v_DKH, self.v_bias_KH, None)
    with jax.named_scope("rope"):
      q_TNH, k_TKH = rotate(q_TNH, *rope), rotate(k_TKH, *rope)
    with jax.named_scope("attention"):
      a_TNH, kept = attend(q_TNH, k_TKH, v_TKH)
    with jax.named_scope("o"):
      x_TD += self._sum(joined(a_TNH, self.o_NHD[...]))
    y_TD = rms_norm(x_TD, self.ffn_norm_D[...], self.norm_eps)
    return x_TD + self._sum(self.mlp(y_TD)), kept

  def _heads(
      self,
      y_TD: jax.Array,
      matrix_DNH: nnx.Param,
      bias_NH: nnx.Param | None,
      norm_H: nnx.Param | None,
  ) -> jax.Array:
    """A projection to heads, each device's own; x_TNH."""
    x_TNH = jnp.einsum("TD,DNH->TNH", y_TD, matrix_DNH[...])
    if bias_NH is not None:
      x_TNH += bias_NH[...]
    if norm_H is not None:
      x_TNH = rms_norm(x_TNH, norm_H[...], self.norm_eps)
    where = meshes.sharding(self.mesh, ("tokens", "heads", "head"))
    return jax.lax.with_sharding_constraint(x_TNH, where)

  def _sum(self, x_TD: jax.Array) -> jax.Array:
    """Partial sums of the devices become whole: one all-reduce."""
    return jax.lax.with_sharding_constraint(
        x_TD, meshes.replicated(self.mesh)
    )


def joined(a_TNH: jax.Array, matrix_NHD: jax.Array) -> jax.Array:
  """All heads' outputs through one matrix: x_TD.

  As one product of two matrices: as an einsum over N and H, XLA's CPU compiler
  would sum over H first and transpose the weight for that in every pass.
  """
  N, H, D = matrix_NHD.shape
  return a_TNH.reshape(-1, N * H) @ matrix_NHD.reshape(N * H, D)


FEW_ROWS = 16
"""Of logits, for which it pays to turn them."""


def logits_of(y_SD: jax.Array, head_VD: jax.Array) -> jax.Array:
  """Products with every token's vector: logits_SV in float32.

  Of few rows XLA's CPU products lay all of the head out anew, which is more
  work than the products. With the head's vectors as rows they read it as it
  lies; few results are turned after. In parts, as else XLA turns the product
  back.
  """
  (S, D), V = y_SD.shape, head_VD.shape[0]
  part = math.gcd(V, 128)

  def by_rows(y_SD, head_VD):
    return jnp.einsum(
        "SD,VD->SV", y_SD, head_VD, preferred_element_type=jnp.float32
    )

  def by_tokens(y_SD, head_VD):
    head_XYD = head_VD.reshape(V // part, part, D)
    logits_XYS = jnp.einsum(
        "XYD,SD->XYS", head_XYD, y_SD, preferred_element_type=jnp.float32
    )
    return logits_XYS.transpose(2, 0, 1).reshape(S, V)

  if not 1 < S <= FEW_ROWS or part == 1:
    return by_rows(y_SD, head_VD)
  return jax.lax.platform_dependent(
      y_SD, head_VD, cpu=by_tokens, default=by_rows
  )


def causal_attention(
    q_TNH: jax.Array,
    k_TKH: jax.Array,
    v_TKH: jax.Array,
    *,
    window: int | None,
) -> tuple[jax.Array, None]:
  """Every token over itself and those before it, or the last `window`."""
  T, N, H = q_TNH.shape
  K = k_TKH.shape[1]
  q_TKGH = q_TNH.reshape(T, K, N // K, H).astype(jnp.float32)
  k_TKH, v_TKH = k_TKH.astype(jnp.float32), v_TKH.astype(jnp.float32)
  score_KGTS = jnp.einsum("TKGH,SKH->KGTS", q_TKGH, k_TKH) * H**-0.5
  seen_TS = jnp.tril(jnp.ones((T, T), bool))
  if window is not None:
    seen_TS &= ~jnp.tril(seen_TS, -window)
  weight_KGTS = jax.nn.softmax(
      jnp.where(seen_TS, score_KGTS, -jnp.inf), axis=-1
  )
  out_TKGH = jnp.einsum("KGTS,SKH->TKGH", weight_KGTS, v_TKH)
  return out_TKGH.reshape(T, N, H).astype(q_TNH.dtype), None


def rms_norm(x_TD: jax.Array, scale_D: jax.Array, eps: float) -> jax.Array:
  """Over the last axis, which may be a head's.

  x / sqrt(mean(x^2) + eps) * scale, in float32 (arXiv 1910.07467).
  """
  wide_TD = x_TD.astype(jnp.float32)
  power_T1 = jnp.mean(jnp.square(wide_TD), axis=-1, keepdims=True)
  unit_TD = wide_TD * jax.lax.rsqrt(power_T1 + eps)
  return unit_TD.astype(x_TD.dtype) * scale_D


def rope_tables(
    position_T: jax.Array, spec: ModelSpec
) -> tuple[jax.Array, jax.Array]:
  """Cosine and sine, [T, 1, H / 2] in float32, of each token's angles."""
  assert spec.rope_theta is not None
  turn_H = jnp.array(
      rope.turns(spec.head_dim, spec.rope_theta, spec.rope_scaling),
      jnp.float32,
  )
  angle = position_T.astype(jnp.float32)[:, None, None] * turn_H
  # In a loop, which nothing is fused with: in every layer's own loop, and for
  # every head again, they would cost a tenth of a pass on a CPU.
  cos, sin = jax.lax.map(
      lambda wanted: jnp.where(wanted == 0, jnp.cos(angle), jnp.sin(angle)),
      jnp.arange(2),
  )
  if spec.rope_scaling is None:
    return cos, sin
  factor = jnp.float32(spec.rope_scaling.attention_factor)
  return cos * factor, sin * factor


def rotate(x_TNH: jax.Array, cos: jax.Array, sin: jax.Array) -> jax.Array:
  """Turns the pairs (h, h + H / 2) of each head by their angles."""
  T, N, H = x_TNH.shape
  pair_TN2H = x_TNH.astype(jnp.float32).reshape(T, N, 2, H // 2)
  # The other of each pair is a flip, which a loop reads in place; halves that
  # are put together again a CPU would copy one number at a time.
  other_TN2H = jnp.flip(pair_TN2H, axis=2)
  sign_1121 = jnp.array([-1, 1], jnp.float32).reshape(1, 1, 2, 1)
  cos, sin = cos[:, :, None], sin[:, :, None] * sign_1121
  turned = pair_TN2H * cos + other_TN2H * sin
  return turned.reshape(T, N, H).astype(x_TNH.dtype)
