"""Which token is next, and by how much."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pdjax.config import Sampling
from pdjax.engine import packing, sampling
from pdjax.engine.agreement import TIE

LOGITS_SV = jnp.array([[0.0, 3.0, 1.0], [2.0, 2.0, -1.0]], jnp.float32)
WARM = Sampling(temperature=0.7, seed=3)


def int32(*values):
  return jnp.array(values, jnp.int32)


def scored(logits_SV, samplings, positions, kind=None):
  """Scores of rows that draw as `samplings` say, in a run of that kind."""
  kind = kind or samplings[0]
  draws_S = packing.draws_of(samplings, len(samplings), kind)
  return jax.jit(sampling.score)(logits_SV, draws_S, int32(*positions))


def reference(logits_V, kind):
  """Probabilities, in the order temperature, top_k, top_p, min_p."""
  scaled_V = np.array(logits_V, np.float64) / kind.temperature
  share_V = np.exp(scaled_V - scaled_V.max())
  best_V = np.argsort(-share_V, kind="stable")
  share_V[best_V[kind.top_k or len(best_V) :]] = 0
  share_V /= share_V.sum()
  before_V = np.cumsum(share_V[best_V]) - share_V[best_V]
  share_V[best_V[before_V >= kind.top_p]] = 0
  share_V[share_V < kind.min_p * share_V.max()] = 0
  return share_V / share_V.sum()


def test_greedy_takes_the_best_and_says_its_lead():
  scores = sampling.score(LOGITS_SV, None, int32(5, 6))
  token_S, gap_S = sampling.choose(scores)
  assert token_S.tolist() == [1, 0]
  assert gap_S.tolist() == [2.0, 0.0]


def test_noise_depends_on_the_own_seed_and_the_position_alone():
  two = [WARM, dataclasses.replace(WARM, seed=4)]
  both_SV = scored(LOGITS_SV, two, (5, 6)).exact_SV
  alone_SV = scored(LOGITS_SV[1:], two[1:], (6,)).exact_SV
  np.testing.assert_array_equal(both_SV[1:], alone_SV)
  for seed, position in ((5, 6), (4, 7), (4 + (1 << 32), 6)):
    other = dataclasses.replace(WARM, seed=seed)
    other_SV = scored(LOGITS_SV[1:], [other], (position,)).exact_SV
    assert not np.array_equal(other_SV, alone_SV)


def test_a_greedy_row_among_drawn_ones_keeps_its_logits():
  kind = Sampling(temperature=0.7, top_p=0.5)
  scores = scored(LOGITS_SV, [kind, Sampling()], (5, 6))
  for part_SV in scores:
    np.testing.assert_array_equal(part_SV[1], LOGITS_SV[1])


def test_each_request_has_its_own_seed():
  seeds = {sampling.own(WARM, request).seed for request in range(100)}
  assert len(seeds) == 100
  other = dataclasses.replace(WARM, seed=4)
  assert sampling.own(other, 0).seed not in seeds
  assert sampling.own(Sampling(seed=3), 0) == Sampling(seed=3)


def test_programs_that_need_less_do_not_fit():
  greedy, cut = Sampling(), Sampling(temperature=0.7, min_p=0.1)
  order = [greedy, WARM, cut]
  for have, kind in enumerate(order):
    fitting = [sampling.fits(kind, request) for request in order]
    assert fitting == [need <= have for need in range(3)]


CUT = [
    Sampling(temperature=0.6, top_k=1),
    Sampling(temperature=1.0, top_k=7),
    Sampling(temperature=1.3, top_k=5000),
    Sampling(temperature=0.9, top_p=0.8),
    Sampling(temperature=1.0, top_p=1e-6),
    Sampling(temperature=2.0, top_p=0.999),
    Sampling(temperature=0.8, min_p=0.1),
    Sampling(temperature=1.2, top_k=30, top_p=0.6),
    Sampling(temperature=1.5, top_k=40, top_p=0.9, min_p=0.05),
    Sampling(temperature=1.5),
]


@pytest.mark.parametrize("seed", range(3))
def test_exactly_the_tokens_of_the_reference_can_be_drawn(seed):
  """Each row with cuts of its own, in one program."""
  rng = np.random.default_rng(seed)
  logits_SV = rng.normal(scale=3, size=(len(CUT), 300)).astype(np.float32)
  scores = scored(jnp.array(logits_SV), CUT, range(len(CUT)))
  for row, kind in enumerate(CUT):
    share_V = reference(logits_SV[row], kind)
    kept_V = np.isfinite(scores.exact_SV[row])
    np.testing.assert_array_equal(kept_V, share_V > 0, err_msg=str(kind))
    assert kept_V.any()
  exact, wide, sure = (np.isfinite(part_SV) for part_SV in scores)
  assert (sure <= exact).all() and (exact <= wide).all()


def test_equal_logits_stay_together():
  tied_SV = jnp.array([[1.0, 2.0, 2.0, 2.0, 0.0]], jnp.float32)
  for kind in (
      Sampling(temperature=1.0, top_k=2), Sampling(temperature=1.0, top_p=0.3)
  ):
    kept_SV = np.isfinite(scored(tied_SV, [kind], (0,)).exact_SV)
    assert kept_SV.tolist() == [[False, True, True, True, False]]


@pytest.mark.parametrize("kind", [CUT[1], CUT[3], CUT[6], CUT[8], CUT[9]])
def test_tokens_are_drawn_as_often_as_the_reference_says(kind):
  """4000 positions; Pearson's statistic within five deviations of its mean."""
  draws = 4000
  logits_V = np.random.default_rng(5).normal(scale=2, size=60)
  logits_SV = jnp.broadcast_to(jnp.float32(logits_V), (draws, 60))
  scores = scored(logits_SV, [kind] * draws, range(draws))
  token_S, _ = sampling.choose(scores)
  expected_V = draws * reference(np.float32(logits_V), kind)
  seen_V = np.bincount(token_S, minlength=60)
  assert not seen_V[expected_V == 0].any()
  often_V = expected_V >= 5
  rest = expected_V[~often_V].sum(), seen_V[~often_V].sum()
  expected = np.append(expected_V[often_V], max(rest[0], 1e-9))
  seen = np.append(seen_V[often_V], rest[1])
  statistic = ((seen - expected) ** 2 / expected).sum()
  freedom = len(expected) - 1
  assert statistic < freedom + 5 * np.sqrt(2 * freedom)


def test_a_token_just_under_the_floor_is_a_rival():
  """Second and third best are a hair apart, and only two may be drawn."""
  logits_SV = jnp.array([[5.0, 4.0 + TIE / 2, 4.0, 0.0]], jnp.float32)
  kind = Sampling(temperature=1.0, top_k=2)
  scores = scored(logits_SV, [kind], (0,))
  kept = [np.isfinite(part_SV[0]).tolist() for part_SV in scores]
  assert kept == [
      [True, True, False, False],
      [True, True, True, False],
      [True, False, False, False],
  ]


def test_the_lead_over_what_lies_under_the_floor_is_negative():
  exact_SV, wide_SV = jnp.array([[1.0, -jnp.inf]]), jnp.array([[1.0, 3.0]])
  token_S, gap_S = sampling.choose(
      sampling.Scores(exact_SV, wide_SV, exact_SV)
  )
  assert (token_S.tolist(), gap_S.tolist()) == ([0], [-2.0])


@pytest.mark.parametrize("kind", [
    Sampling(), WARM, dataclasses.replace(WARM, top_k=2),
    dataclasses.replace(WARM, top_p=0.5, min_p=0.1),
])
@pytest.mark.parametrize("wrong", [jnp.nan, jnp.inf, -jnp.inf])
def test_a_row_that_is_not_finite_has_no_scores(kind, wrong):
  logits_SV = LOGITS_SV.at[0, 2].set(wrong)
  scores = scored(logits_SV, [kind, kind], (5, 6))
  token_S, gap_S = sampling.choose(scores)
  assert token_S[0] == 0
  assert np.isnan(gap_S).tolist() == [True, False]
  assert np.isnan(scores.exact_SV).all(axis=1).tolist() == [True, False]


def test_end_tokens():
  assert sampling.is_end(int32(1, 5, 7), (7, 1)).tolist() == [
      True, False, True,
  ]
  assert not sampling.is_end(int32(0), ()).any()
