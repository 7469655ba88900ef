"""Rates are doubled, then bisected, and a search says why it stopped."""

import pytest

from pdjax.search.bracket import Bracket


def searched(outcome, **said):
  bracket = Bracket(**{"first": 1.0, "tolerance": 0.05, "doublings": 10} | said)
  order = []
  while (rate := bracket.next()) is not None:
    order.append(rate)
    bracket.tried[rate] = outcome(rate)
    assert len(order) < 100
  return bracket, order


def limit(most):
  return lambda rate: "pass" if rate <= most else "fail"


def test_doubles_then_bisects_in_log_rate():
  bracket, order = searched(limit(5.0))
  assert order[:5] == [1.0, 2.0, 4.0, 8.0, 5.657]
  assert order[5] == pytest.approx((4 * 5.657) ** 0.5, abs=1e-3)
  assert bracket.low <= 5.0 < bracket.high <= 1.05 * bracket.low
  assert bracket.stopped == "bracketed"


def test_goes_down_where_the_first_rate_fails():
  bracket, order = searched(limit(0.3))
  assert order[:4] == [1.0, 0.5, 0.25, 0.3536]
  assert bracket.low <= 0.3 < bracket.high


def test_small_first_steps_grow_up_to_a_doubling():
  _, order = searched(limit(100), step=1.1, doublings=6)
  assert order == [1, 1.1, 1.331, 1.949, 3.898, 7.796, 15.59]


def test_ends_that_are_not_found_are_said():
  up, _ = searched(limit(1e9), doublings=3)
  down, _ = searched(limit(0), doublings=3)
  assert up.stopped == "not bracketed above" and up.low == 8 and up.high is None
  assert down.stopped == "not bracketed below" and down.high == 0.125


def test_around_undecided_rates_both_sides_are_narrowed():
  def outcome(rate):
    return "pass" if rate < 4.5 else "fail" if rate > 6 else "undecided"

  bracket, _ = searched(outcome)
  assert bracket.stopped == "undecided"
  assert bracket.undecided[0] <= 1.05 * bracket.low
  assert bracket.high <= 1.05 * bracket.undecided[-1]
  assert bracket.low < 4.5 and bracket.high > 6


def test_undecided_is_neither_end():
  bracket, order = searched(lambda rate: "undecided", doublings=2)
  assert order == [1, 2, 4] and bracket.low is bracket.high is None


@pytest.mark.parametrize(
    ("before", "failed", "stopped"),
    [
        ({1.0: "pass"}, False, "not bracketed above"),
        ({1.0: "fail"}, False, "not bracketed below"),
        ({1.0: "pass", 2.0: "fail"}, False, "failed"),
        ({1.0: "pass"}, True, "failed"),
    ],
)
def test_an_obstacle_ends_the_search(before, failed, stopped):
  bracket = Bracket(first=1.0, tolerance=0.05, doublings=10, tried=dict(before))
  bracket.block("the trace is too short", failed=failed)
  assert bracket.next() is None and bracket.stopped == stopped
