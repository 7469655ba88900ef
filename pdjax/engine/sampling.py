"""The next token of each sequence, chosen on the device.

A token is the argmax of its scores. Greedy scores are the logits; at a
temperature they are the logits plus Gumbel noise of that scale, whose argmax is
a draw from softmax(logits / temperature). The noise depends on the request's
own seed and the position alone, so a request's tokens do not depend on its
batch mates, on the split, or on a preemption.

Cuts (`pdjax.engine.cuts`) keep part of the tokens: logits under a row's floor
do not count.

Dimension key: docs/notation.md; S is rows of logits.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pdjax.config import Sampling
from pdjax.engine.agreement import TIE
from pdjax.engine.cuts import Cuts, floors


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, slots=True)
class Draws:
  """How each row's token is drawn."""

  key_S2: jax.Array
  """uint32, the request's own seed as a threefry key."""
  temperature_S: jax.Array
  """float32; 0 is greedy."""
  cuts: Cuts | None
  """None where no request of the run has any."""


class Scores(NamedTuple):
  """What the next token is the argmax of, and the same near the floor.

  Logits differ by rounding from pass to pass. `TIE` more or less decides about
  tokens at the floor: `wide_SV` has those that might be above it as well,
  `sure_SV` only those that are in any case.
  """

  exact_SV: jax.Array
  wide_SV: jax.Array
  sure_SV: jax.Array


def draws(sampling: Sampling) -> bool:
  """Whether tokens are drawn; else they are the best ones."""
  return sampling.temperature > 0


def cuts(sampling: Sampling) -> bool:
  """Whether some tokens are never drawn."""
  narrow = sampling.top_k > 0 or sampling.top_p < 1 or sampling.min_p > 0
  return draws(sampling) and narrow


def fits(kind: Sampling, request: Sampling) -> bool:
  """Whether programs for a run of that kind can draw as the request wants."""
  return draws(request) <= draws(kind) and cuts(request) <= cuts(kind)


def own(sampling: Sampling, request: int) -> Sampling:
  """A run's sampling with one request's own seed, of 64 bits."""
  if not draws(sampling):
    return sampling
  sequence = np.random.SeedSequence(sampling.seed, spawn_key=(request,))
  (seed,) = sequence.generate_state(1, np.uint64)
  return dataclasses.replace(sampling, seed=int(seed))


def score(
    logits_SV: jax.Array, draws: Draws | None, position_S: jax.Array
) -> Scores:
  """Scores of every token, float32; -inf under the floor.

  A row with a logit that is not finite has no best token: all of it is NaN,
  and so is the lead of what is chosen.

  Args:
    logits_SV: float32.
    draws: of each row; None is greedy.
    position_S: i32, the position the token will have in its request.
  """
  scores = _score(logits_SV, draws, position_S)
  finite_S1 = jnp.isfinite(logits_SV).all(axis=-1, keepdims=True)
  return Scores(*(jnp.where(finite_S1, part, jnp.nan) for part in scores))


def _score(
    logits_SV: jax.Array, draws: Draws | None, position_S: jax.Array
) -> Scores:
  """As `score`, of finite logits."""
  if draws is None:
    return Scores(logits_SV, logits_SV, logits_SV)
  noise_SV = jax.vmap(_noise, (0, 0, None))(
      draws.key_S2, position_S, logits_SV.shape[1]
  )
  score_SV = logits_SV + draws.temperature_S[:, None] * noise_SV
  if draws.cuts is None:
    return Scores(score_SV, score_SV, score_SV)
  floor_S, wide_S = floors(logits_SV, draws.temperature_S, draws.cuts)

  def above(floor_S):
    return jnp.where(logits_SV >= floor_S[:, None], score_SV, -jnp.inf)

  return Scores(above(floor_S), above(wide_S - TIE), above(floor_S + TIE))


def choose(scores: Scores) -> tuple[jax.Array, jax.Array]:
  """Best tokens and their lead over the second: token_S i32, gap_S float32.

  Of equal scores the lowest token id wins, with a gap of 0. The second may be
  a token just under the floor; had it won, the gap is negative. Where there
  are no scores the token is 0 and the gap NaN.
  """
  best_S = jnp.max(scores.exact_SV, axis=-1)
  token_V = jnp.arange(scores.exact_SV.shape[-1], dtype=jnp.int32)
  # Not argmax: XLA's CPU compiler makes of it a loop over one core's scalars,
  # which for 16 rows of 49,152 takes as long as a tenth of a small model.
  is_best_SV = scores.exact_SV == best_S[:, None]
  first_S = jnp.min(jnp.where(is_best_SV, token_V, token_V.size), axis=-1)
  token_S = jnp.where(first_S < token_V.size, first_S, 0)
  is_own_SV = token_V == token_S[:, None]
  others_SV = jnp.where(is_own_SV, -jnp.inf, scores.wide_SV)
  return token_S, best_S - jnp.max(others_SV, axis=-1)


def is_end(token_S: jax.Array, end_ids: tuple[int, ...]) -> jax.Array:
  """Whether a token ends its answer, bool_S."""
  ends_S = jnp.zeros(token_S.shape, bool)
  for end_id in end_ids:
    ends_S |= token_S == end_id
  return ends_S


def _noise(key_2: jax.Array, position: jax.Array, V: int) -> jax.Array:
  key = jax.random.wrap_key_data(key_2, impl="threefry2x32")
  return jax.random.gumbel(
      jax.random.fold_in(key, position), (V,), jnp.float32
  )
