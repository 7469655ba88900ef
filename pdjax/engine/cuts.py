"""Top-k, top-p and min-p: the lowest logit that may still be drawn.

The order is temperature, top_k, top_p, min_p, that of the logits warpers of
Hugging Face transformers and of vLLM's first sampler: top_p is a share of what
top_k keeps. All three keep a token for its logit alone, so together they are
one floor; of equal logits all stay. A floor is found by bisection over the
float32 numbers, which for 49,152 tokens takes a tenth of a sort's time on CPU.

Dimension key: docs/notation.md; S is rows of logits.
"""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp

from pdjax.engine.agreement import TIE


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, slots=True)
class Cuts:
  """Which tokens each row may draw."""

  top_k_S: jax.Array
  """i32: the k best; 0 is all."""
  top_p_S: jax.Array
  """float32: the fewest best that have this share of those; 1 is all."""
  min_p_S: jax.Array
  """float32: those at least so likely relative to the best; 0 is all."""


def floors(
    logits_SV: jax.Array, temperature_S: jax.Array, cuts: Cuts
) -> tuple[jax.Array, jax.Array]:
  """The lowest logits that count, exactly and if `TIE` of mass more counts."""
  best_S = jnp.max(logits_SV, axis=-1)
  warm_S = jnp.where(temperature_S > 0, temperature_S, jnp.float32(1))
  kth_S = _top_k_floor(logits_SV, cuts.top_k_S)
  weight_SV = jnp.exp((logits_SV - best_S[:, None]) / warm_S[:, None])
  weight_SV = jnp.where(logits_SV >= kth_S[:, None], weight_SV, 0)
  pth_S, wide_S = _top_p_floors(logits_SV, weight_SV, cuts.top_p_S)
  mth_S = jnp.where(
      cuts.min_p_S > 0, best_S + warm_S * jnp.log(cuts.min_p_S), -jnp.inf
  )
  lowest_S = jnp.maximum(kth_S, mth_S)
  return jnp.maximum(lowest_S, pth_S), jnp.maximum(lowest_S, wide_S)


def _top_k_floor(logits_SV: jax.Array, top_k_S: jax.Array) -> jax.Array:
  """The k-th best logit."""
  order_SV = _order(logits_SV)
  kth_S = _highest(
      lambda order_S: (order_SV >= order_S[:, None]).sum(-1) >= top_k_S,
      top_k_S,
  )
  return jnp.where(top_k_S > 0, kth_S, -jnp.inf)


def _top_p_floors(
    logits_SV: jax.Array, weight_SV: jax.Array, top_p_S: jax.Array
) -> tuple[jax.Array, jax.Array]:
  """The lowest logit of the share, and of a share larger by `TIE`."""
  order_SV = _order(logits_SV)
  wanted_S = top_p_S * weight_SV.sum(-1)

  def mass(order_S):
    return jnp.where(order_SV >= order_S[:, None], weight_SV, 0).sum(-1)

  pth_S = _highest(lambda order_S: mass(order_S) >= wanted_S, top_p_S)
  next_S = jnp.max(
      logits_SV, axis=-1, initial=-jnp.inf, where=logits_SV < pth_S[:, None]
  )
  close_S = mass(_order(pth_S)) < wanted_S + TIE * weight_SV.sum(-1)
  wide_S = jnp.where(close_S, next_S, pth_S)
  cut_S = top_p_S < 1
  return jnp.where(cut_S, pth_S, -jnp.inf), jnp.where(cut_S, wide_S, -jnp.inf)


def _highest(
    enough: Callable[[jax.Array], jax.Array], like_S: jax.Array
) -> jax.Array:
  """The largest float32 of which `enough` of its order holds, in 32 halvings.

  `enough` must hold of -inf, and of nothing above what it does not hold of.
  """
  low_S = jnp.full(like_S.shape, _order(jnp.float32(-jnp.inf)))
  high_S = jnp.full(like_S.shape, _order(jnp.float32(jnp.inf)))

  def halve(_, bounds):
    low_S, high_S = bounds
    middle_S = (low_S & high_S) + ((low_S ^ high_S) >> 1)  # cannot overflow
    holds_S = enough(middle_S)
    return (
        jnp.where(holds_S, middle_S, low_S),
        jnp.where(holds_S, high_S, middle_S),
    )

  low_S, _ = jax.lax.fori_loop(0, 32, halve, (low_S, high_S))
  return jax.lax.bitcast_convert_type(_flipped(low_S), jnp.float32)


def _order(value: jax.Array) -> jax.Array:
  """An i32 that is ordered as the float32 is."""
  return _flipped(jax.lax.bitcast_convert_type(value, jnp.int32))


def _flipped(bits: jax.Array) -> jax.Array:
  """Negative floats count downwards; its own inverse."""
  return jnp.where(bits < 0, bits ^ jnp.int32(0x7FFFFFFF), bits)
