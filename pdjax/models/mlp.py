"""The second half of a layer: one feed-forward block, or a few of many.

Both return sums over the devices' own parts of F, which the caller makes
whole.

Dimension key: docs/notation.md; X = experts a token is sent to.
"""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from flax import nnx

from pdjax.models.spec import Experts


class SwiGLU(nnx.Module):
  """silu(x W_gate) * (x W_up), then W_down (arXiv 2002.05202)."""

  def __init__(self, weights: Mapping[str, nnx.Param]):
    self.gate_DF = weights["gate"]
    self.up_DF = weights["up"]
    self.down_FD = weights["down"]

  def __call__(self, x_TD: jax.Array) -> jax.Array:
    with jax.named_scope("gate_up"):
      gate_TF, up_TF = x_TD @ self.gate_DF[...], x_TD @ self.up_DF[...]
    with jax.named_scope("down"):
      return (jax.nn.silu(gate_TF) * up_TF) @ self.down_FD[...]


class MixtureOfExperts(nnx.Module):
  """Blocks of which each token weighs the best few (arXiv 2401.04088).

  Dense dispatch: every expert computes every token and most results count
  nothing. That costs E / X times the arithmetic, drops no token, and needs
  neither sorting nor an exchange between devices, each of which holds its
  part of F of every expert.
  """

  def __init__(self, weights: Mapping[str, nnx.Param], experts: Experts):
    self.router_DE = weights["router"]
    self.gate_EDF = weights["expert_gate"]
    self.up_EDF = weights["expert_up"]
    self.down_EFD = weights["expert_down"]
    self.experts = experts

  def __call__(self, x_TD: jax.Array) -> jax.Array:
    score_TE = x_TD @ self.router_DE[...]
    share_TE = expert_shares(score_TE, self.experts).astype(x_TD.dtype)
    gate_TEF = jnp.einsum("TD,EDF->TEF", x_TD, self.gate_EDF[...])
    up_TEF = jnp.einsum("TD,EDF->TEF", x_TD, self.up_EDF[...])
    y_TEF = jax.nn.silu(gate_TEF) * up_TEF * share_TE[:, :, None]
    return jnp.einsum("TEF,EFD->TD", y_TEF, self.down_EFD[...])


def expert_shares(score_TE: jax.Array, experts: Experts) -> jax.Array:
  """Each expert's part of each token's result, in float32; most are 0."""
  share_TE = jax.nn.softmax(score_TE.astype(jnp.float32), axis=-1)
  _, best_TX = jax.lax.top_k(share_TE, experts.per_token)
  chosen_TE = jax.nn.one_hot(best_TX, experts.count).sum(axis=-2)
  share_TE *= chosen_TE
  if experts.renormalise:
    share_TE /= share_TE.sum(axis=-1, keepdims=True)
  return share_TE
