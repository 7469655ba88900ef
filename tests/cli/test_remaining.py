"""What is left is told in cells and in time."""

import dataclasses

import pytest

from pdjax import schema
from pdjax.cli import remaining
from pdjax.sweep.cells import Cell


class Clock:
  now = 0.0

  def monotonic(self):
    return self.now


def cell(kind="simulated"):
  return Cell(run=schema.run_from_tree({"backend": {"kind": kind}}))


def test_time_follows_from_the_pace_so_far(monkeypatch):
  clock = Clock()
  monkeypatch.setattr(remaining, "time", clock)
  simulated, measured = cell(), cell("jax")
  left = remaining.Remaining([simulated] * 3 + [measured] * 2)
  left.begin(simulated)
  clock.now = 4.0
  assert left.end(simulated) == " (1 of 5)"  # no measured one seen
  assert left.end(simulated) == " (2 of 5)"
  clock.now = 10.0
  left.begin(measured)
  assert left.end(simulated) == " (3 of 5)"
  clock.now = 70.0
  assert left.end(measured) == " (4 of 5, 60 s left)"
  assert left.end(measured) == " (5 of 5)"


def test_one_cell_needs_no_count():
  one = cell()
  assert remaining.Remaining([one]).end(one) == ""
  other = dataclasses.replace(one, case="x")
  assert remaining.Remaining([one, other]).end(one) == " (1 of 2)"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3.4, "3 s"), (99, "99 s"), (600, "10 min"), (7000, "1.9 h")],
)
def test_durations_in_words(seconds, words):
  assert remaining.about(seconds) == words
