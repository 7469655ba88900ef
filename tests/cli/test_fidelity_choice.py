"""The simulator's choice is judged among designs that may be compared."""

import pytest

from pdjax.cli.fidelity_choice import Design, choices


def design(label, rate, measured, simulated):
  return Design(
      label=label, conditions={"contract": {"rate": rate}},
      measured=measured, simulated=simulated,
  )


def test_rates_are_not_ranked_together():
  # Over all six the simulator would look perfect; at rate 2 it is wrong.
  low, high = choices([
      design("a", 1, 1.0, 1.0), design("b", 1, 0.8, 0.9),
      design("c", 1, 0.5, 0.4), design("a2", 2, 2.0, 1.9),
      design("b2", 2, 1.6, 2.1), design("c2", 2, 1.5, 1.4),
  ])
  assert low.designs == ("a", "b", "c") and high.designs == ("a2", "b2", "c2")
  assert (low.rank_correlation, low.lost) == (1.0, 0.0)
  assert high.rank_correlation == pytest.approx(1 / 3)
  assert high.lost == pytest.approx(1 - 1.6 / 2.0)


def test_a_design_alone_is_no_choice():
  assert not list(choices([design("a", 1, 1, 1), design("b", 2, 1, 1)]))
