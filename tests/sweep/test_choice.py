"""Shares cover all cells once; an order depends on nothing but the cells."""

import dataclasses

import pytest

from pdjax import schema
from pdjax.sweep import choice


@pytest.fixture
def cells(cell):
  """Twelve, of which every third differs from its neighbours in the SLO."""
  return [
      dataclasses.replace(cell, run=schema.run_from_tree({
          "workload": {"seed": number // 3},
          "slo": {"ttft_s": 1.0 + number % 3},
          "backend": {"kind": "jax" if number > 5 else "simulated"},
      }))
      for number in range(12)
  ]


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_shares_are_all_cells_once(cells, count):
  shares = [choice.share(cells, index, count) for index in range(1, count + 1)]
  ids = [cell.id for share in shares for cell in share]
  assert sorted(ids) == sorted(cell.id for cell in cells)
  works = [{cell.work_id for cell in share} for share in shares]
  assert sum(map(len, works)) == 4
  assert max(map(len, works)) - min(map(len, works)) <= 1


def test_a_share_does_not_depend_on_the_order(cells):
  ours = choice.share(cells, 1, 2)
  theirs = choice.share(cells[::-1], 1, 2)
  assert {cell.id for cell in ours} == {cell.id for cell in theirs}
  assert [c.id for c in ours] == [c.id for c in cells if c in ours]


def test_cells_are_chosen_by_the_start_of_their_ids(cells):
  ids = [cells[3].id[:12], cells[1].id]
  assert choice.with_ids(cells, ids) == (cells[1], cells[3])
  assert choice.with_ids(cells, ["x"]) == ()


def test_only_measured_cells_are_shuffled_unless_one_says_so(cells):
  names = [cell.id for cell in cells]

  def order(*words):
    return [cell.id for cell in choice.in_order(cells, *words)]

  assert order("given", "x") == names
  default = order(None, "x")
  assert default[:6] == names[:6] and default[6:] != names[6:]
  assert sorted(default) == sorted(names)
  assert order("shuffled", "x")[:6] != names[:6]
  assert order(None, "x") == default != order(None, "y")


def test_a_choice_of_cells_keeps_the_order_of_all(cells):
  some = cells[::2]
  order = choice.shuffled(cells, "x")
  assert choice.shuffled(some, "x") == tuple(c for c in order if c in some)
