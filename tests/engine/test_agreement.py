"""Equal up to the first tie, and nothing swept under it."""

import math

from pdjax.engine.agreement import Agreement, compare_answers

FAR, NEAR, UNDER = 1.0, 1e-5, -2.0


def answer(tokens, *gaps):
  """Tokens far ahead of their seconds, but for the first few."""
  return tokens, [*gaps, *[FAR] * (len(tokens) - len(gaps))]


def test_equal_answers():
  same = answer([1, 2, 3])
  assert compare_answers(same, same) == Agreement(
      requests=1, checked=3, equal=3
  )


def test_a_difference_without_a_tie_is_one():
  found = compare_answers(answer([1, 2, 3], NEAR), answer([1, 9, 3]))
  assert found.different == 1 and not found.holds
  assert found.not_compared == 1


def test_a_tie_excuses_what_follows():
  found = compare_answers(answer([1, 2, 3, 4], FAR, NEAR), answer([1, 9, 9, 9]))
  assert found.holds
  assert (found.equal, found.ties, found.not_compared) == (1, 1, 2)


def test_a_missing_token_is_a_difference():
  short, long = answer([1]), answer([1, 2], FAR, NEAR)
  assert compare_answers(long, short).different == 1
  assert compare_answers(short, long).different == 1
  assert compare_answers(answer([]), answer([])).holds


def test_either_side_may_know_of_the_tie():
  """Here 9 was under the floor in the first run and won in the second."""
  one, other = answer([1, 2], FAR, UNDER), answer([1, 9])
  assert compare_answers(one, other).holds
  assert compare_answers(other, one).holds


def test_agreements_add_up():
  good = compare_answers(answer([1, 2]), answer([1, 2]))
  lost = compare_answers(answer([3]), answer([]))
  both = good + lost
  assert (both.requests, both.equal, both.different) == (2, 2, 1)
  assert good.holds and not both.holds


def test_equal_tokens_without_scores_do_not_agree():
  """Two runs of a broken model say the same and mean nothing."""
  lost, sound = answer([1, 0, 0], FAR, math.nan), answer([1, 0, 0], FAR, NEAR)
  for one, other in ((lost, lost), (lost, sound), (sound, lost)):
    found = compare_answers(one, other)
    assert (found.equal, found.ties, found.different) == (1, 0, 1)
