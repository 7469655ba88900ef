"""`merge_states`: the contract, and all there is.

Parts of a softmax carry their log-sum-exp, so they can be put together
(arXiv 2501.01005, section 2.2). XLA makes one fused loop of either function;
a kernel of one's own would read and write the same bytes.

Dimension key: docs/notation.md; Z = parts of a context.
"""

import jax
import jax.numpy as jnp


def merge_states(
    out_ZBNH: jax.Array, lse_ZBN: jax.Array
) -> tuple[jax.Array, jax.Array]:
  """Attention over a whole context from attention over its parts.

  A part in which nothing is seen has lse -inf and any finite output.
  Returns (out_BNH in the type of the parts, lse_BN in float32).
  """
  lse_BN = jax.nn.logsumexp(lse_ZBN, axis=0)
  weight_ZBN = jnp.exp(lse_ZBN - jnp.maximum(lse_BN, -1e30))
  part_ZBNH = out_ZBNH.astype(jnp.float32)
  out_BNH = jnp.einsum("ZBN,ZBNH->BNH", weight_ZBN, part_ZBNH)
  return out_BNH.astype(out_ZBNH.dtype), lse_BN


def with_sink(
    out_BNH: jax.Array, lse_BN: jax.Array, sink_N: jax.Array
) -> tuple[jax.Array, jax.Array]:
  """Attention in which each head also sees a sink without a value.

  The score `sink_N` takes part in the softmax of its head and brings nothing
  (gpt-oss, arXiv 2508.10925; attention sinks, arXiv 2309.17453).
  """
  sink_N = sink_N.astype(jnp.float32)
  share_BN1 = jax.nn.sigmoid(lse_BN - sink_N)[..., None]
  out_BNH = (out_BNH.astype(jnp.float32) * share_BN1).astype(out_BNH.dtype)
  return out_BNH, jnp.logaddexp(lse_BN, sink_N)
