"""Which token is next, and by how much."""

import jax.numpy as jnp
import numpy as np

from pdjax import config
from pdjax.engine import sampling

LOGITS = jnp.array([[0.0, 3.0, 1.0], [2.0, 2.0, -1.0]], jnp.float32)


def int32(*values):
  return jnp.array(values, jnp.int32)


def test_greedy_takes_the_best_and_says_its_lead():
  scores = sampling.scores(LOGITS, int32(0, 1), int32(5, 6), config.Sampling())
  token_S, gap_S = sampling.choose(scores)
  assert token_S.tolist() == [1, 0]
  assert gap_S.tolist() == [2.0, 0.0]


def test_noise_depends_on_request_and_position_alone():
  warm = config.Sampling(temperature=0.7, seed=3)
  both = sampling.scores(LOGITS, int32(4, 9), int32(5, 6), warm)
  alone = sampling.scores(LOGITS[1:], int32(9), int32(6), warm)
  np.testing.assert_array_equal(both[1:], alone)
  for request, position, seed in ((8, 6, 3), (9, 7, 3), (9, 6, 4)):
    other = sampling.scores(
        LOGITS[1:], int32(request), int32(position),
        config.Sampling(temperature=0.7, seed=seed),
    )
    assert not np.array_equal(other, alone)


def test_tokens_are_drawn_from_the_softmax():
  """5000 positions; each share within four standard errors."""
  draws, temperature = 5000, 0.5
  logits_SV = jnp.broadcast_to(LOGITS[0], (draws, 3))
  scores = sampling.scores(
      logits_SV, jnp.zeros(draws, jnp.int32),
      jnp.arange(draws, dtype=jnp.int32),
      config.Sampling(temperature=temperature),
  )
  token_S, _ = sampling.choose(scores)
  weight = np.exp(np.array(LOGITS[0]) / temperature)
  share = weight / weight.sum()
  error = np.sqrt(share * (1 - share) / draws)
  seen = np.bincount(token_S, minlength=3) / draws
  assert (abs(seen - share) < 4 * error).all()


def test_end_tokens():
  assert sampling.is_end(int32(1, 5, 7), (7, 1)).tolist() == [
      True, False, True,
  ]
  assert not sampling.is_end(int32(0), ()).any()
