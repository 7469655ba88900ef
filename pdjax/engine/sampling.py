"""The next token of each sequence, chosen on the device.

A token is the argmax of its scores. Greedy scores are the logits; at a
temperature they are the logits plus Gumbel noise of that scale, whose argmax is
a draw from softmax(logits / temperature). The noise depends on the seed, the
request and the position alone, so a request's tokens do not depend on its
batch mates, on the split, or on a preemption.

Dimension key: docs/notation.md; S is rows of logits.
"""

import jax
import jax.numpy as jnp

from pdjax import config


def scores(
    logits_SV: jax.Array,
    request_S: jax.Array,
    position_S: jax.Array,
    sampling: config.Sampling,
) -> jax.Array:
  """What the next token is the argmax of, float32 scores_SV.

  Args:
    logits_SV: float32.
    request_S: i32, whose token it is.
    position_S: i32, the position it will have in its request.
    sampling: temperature and seed; static.
  """
  if not sampling.temperature:
    return logits_SV
  key = jax.random.key(sampling.seed)

  def noise(request, position):
    own = jax.random.fold_in(jax.random.fold_in(key, request), position)
    return jax.random.gumbel(own, logits_SV.shape[1:], jnp.float32)

  noise_SV = jax.vmap(noise)(request_S, position_S)
  return logits_SV + sampling.temperature * noise_SV


def choose(scores_SV: jax.Array) -> tuple[jax.Array, jax.Array]:
  """Best tokens and their lead over the second: token_S i32, gap_S float32.

  Of equal scores the lowest token id wins, with a gap of 0.
  """
  token_S = jnp.argmax(scores_SV, axis=-1).astype(jnp.int32)
  best_S = jnp.max(scores_SV, axis=-1)
  token_V = jnp.arange(scores_SV.shape[-1], dtype=jnp.int32)
  others_SV = jnp.where(token_V == token_S[:, None], -jnp.inf, scores_SV)
  return token_S, best_S - jnp.max(others_SV, axis=-1)


def is_end(token_S: jax.Array, end_ids: tuple[int, ...]) -> jax.Array:
  """Whether a token ends its answer, bool_S."""
  ends_S = jnp.zeros(token_S.shape, bool)
  for end_id in end_ids:
    ends_S |= token_S == end_id
  return ends_S
