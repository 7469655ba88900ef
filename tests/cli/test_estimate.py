"""How long a sweep will take, judged by runs that are there."""

import dataclasses
import json
import os

import pytest

from pdjax import schema
from pdjax.cli.estimate import Seen, estimate
from pdjax.sweep.cells import Cell


@pytest.fixture
def seen(tmp_path):
  """Makes a cell with a rate, and a run of it that took so many seconds."""

  def make(rate, *, seconds=None, due=False, **sections):
    tree = {"cluster": {"chip": "h100-sxm"}, "workload": {"rate": rate}}
    cell = Cell(run=schema.run_from_tree(tree | sections))
    if seconds is None:
      return Seen(cell, due, None)
    folder = tmp_path / cell.id
    folder.mkdir()
    (folder / "status.json").write_text(json.dumps({"seconds": seconds}))
    return Seen(cell, due, folder)

  return make


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
  monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


def test_simulated_cells_share_the_cores(seen):
  cells = [seen(1.0, seconds=10.0), *(seen(r, due=True) for r in (2.0, 3.0))]
  assert estimate(cells) == (
      "about 10 s for 2 cells to run, judging by 1 run"
  )


def test_measured_cells_take_turns(seen):
  jax = {"backend": {"kind": "jax"}, "cluster": {}}
  cells = [
      seen(1.0, seconds=10.0, **jax),
      *(seen(r, due=True, **jax) for r in (2.0, 3.0)),
  ]
  assert estimate(cells).startswith("about 20 s for 2 cells")


def test_a_cell_is_judged_by_its_own_run_then_by_its_like(seen):
  chunked = {"strategy": {"kind": "chunked"}}
  cells = [
      seen(1.0, seconds=40.0, due=True),  # stale
      seen(2.0, seconds=8.0, **chunked),
      seen(3.0, due=True, **chunked),
  ]
  # (40 + 8) / 2 cores
  assert estimate(cells) == "about 24 s for 2 cells to run, judging by 2 runs"


def test_nothing_is_said_without_a_run_or_without_work(seen):
  jax = {"backend": {"kind": "jax"}, "cluster": {}}
  assert estimate([seen(1.0, seconds=1.0)]) == ""
  cells = [seen(3.0, seconds=1.0), seen(2.0, due=True, **jax)]
  assert estimate(cells) == (
      "no estimate for 1 cell to run: no run to judge by yet"
  )


def test_a_damaged_status_is_no_run(seen):
  one = seen(1.0, seconds=1.0)
  (one.run / "status.json").write_text("{")
  cells = [dataclasses.replace(one, due=True)]
  assert estimate(cells).startswith("no estimate")
