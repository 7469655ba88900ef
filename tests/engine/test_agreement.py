"""Equal up to the first tie, and nothing swept under it."""

from pdjax.engine.agreement import Agreement, compare_answers

FAR, NEAR = 1.0, 1e-5


def test_equal_answers():
  assert compare_answers([1, 2, 3], [FAR] * 3, [1, 2, 3]) == Agreement(
      requests=1, checked=3, equal=3
  )


def test_a_difference_without_a_tie_is_one():
  found = compare_answers([1, 2, 3], [NEAR, FAR, FAR], [1, 9, 3])
  assert found.different == 1 and not found.holds
  assert found.not_compared == 1


def test_a_tie_excuses_what_follows():
  found = compare_answers([1, 2, 3, 4], [FAR, NEAR, FAR, FAR], [1, 9, 9, 9])
  assert found.holds
  assert (found.equal, found.ties, found.not_compared) == (1, 1, 2)


def test_a_missing_token_is_a_difference():
  assert compare_answers([1, 2], [FAR, FAR], [1]).different == 1
  assert compare_answers([1], [FAR], [1, 2]).different == 1
  assert compare_answers([], [], []).holds


def test_agreements_add_up():
  good = compare_answers([1, 2], [FAR, FAR], [1, 2])
  lost = compare_answers([3], [FAR], [])
  both = good + lost
  assert (both.requests, both.equal, both.different) == (2, 2, 1)
  assert good.holds and not both.holds
