"""Mistakes of a sweep's cells: all of them, each once, and where."""

import dataclasses

import pytest

from pdjax import unknown
from pdjax.sweep.spread import MAX_CELLS, Sweep, spread
from pdjax.sweep.where import where_of

BASE = {"cluster": {"chip": "h100-sxm"}, "workload": {"rate": 1.0}}
CASES = (
    ("continuous", {"strategy.kind": "continuous"}),
    ("chunked", {"strategy.kind": "chunked"}),
)
SIZES = ("strategy.chunk_size", (128, 256, 512))


def test_a_field_that_no_cell_reads_is_an_error():
  _, errors = spread(BASE, Sweep(grid=(SIZES,)))
  assert errors == [
      "strategy.chunk_size: applies to no cell of the sweep: only"
      " chunked prefill cuts prompts"
  ]
  tree = BASE | {"strategy": {"chunk_size": 64}}
  _, errors = spread(tree, Sweep())
  assert errors == [
      "strategy.chunk_size: does not apply: only chunked prefill cuts"
      " prompts"
  ]


def test_a_cell_holds_the_chips_of_its_workers_alone():
  chips = {name: {"like": "h100-sxm", "tdp_w": 500} for name in "abc"}
  tree = BASE | {"cluster": {"chips": chips}}
  sweep = Sweep(grid=(("cluster.chip", ("a", "b")),))
  assert spread(tree, sweep)[1] == [
      "cluster.chips.c: applies to no cell of the sweep: no worker runs on this"
      " chip"
  ]
  del chips["c"]
  cells, errors = spread(tree, sweep)
  assert not errors
  assert [set(cell.run.cluster.chips) for cell in cells] == [{"a"}, {"b"}]


def test_an_error_of_some_cells_says_which():
  sweep = Sweep(cases=CASES[1:], grid=(("strategy.chunk_size", (0, 128)),))
  _, errors = spread(BASE, sweep)
  assert errors == [
      "strategy.chunk_size: must be from 1 to 1000000000, got 0 (in cell"
      " chunked strategy.chunk_size=0)"
  ]


def test_what_follows_from_a_mistake_is_not_told():
  tree = BASE | {"workload": {"kind": "azur", "path": "x"}}

  def no_file(run):
    yield f"workload.path: no {run.workload.kind} file {run.workload.path}"

  _, errors = spread(tree, Sweep(), (no_file,))
  assert len(errors) == 1 and errors[0].startswith("workload.kind: expected")


def test_mistakes_of_all_cells_are_told():
  cases = (
      ("a", {"strategy.kind": "chunkd"}),
      ("b", {"strategy.kind": "chunked", "strategy.chunk_size": "x"}),
      ("c", {"strategy.kind": "disaggregated"}),
  )
  _, errors = spread(BASE, Sweep(cases=cases))
  fields = [line.partition(":")[0] for line in errors]
  cells = [line.rpartition(" (in cell ")[2] for line in errors]
  assert fields == [
      "strategy.kind", "strategy.chunk_size", "cluster.split",
  ]
  assert cells == ["a)", "b)", "c)"]


@pytest.mark.parametrize("repeat", [-1, True, 1.0, "x", 10**6])
def test_a_repeat_is_a_count(repeat):
  _, errors = spread(BASE, Sweep(grid=(("repeat", (repeat,)),)))
  (line,) = errors
  assert line.startswith("repeat: expected a count up to 1000, got ")


def test_unknown_values_are_told_by_who_found_them():
  grid = (("repeat", (unknown.UNKNOWN,)), ("workload.rate", (unknown.UNKNOWN,)))
  assert spread(BASE, Sweep(grid=grid))[1] == []


def test_more_cells_than_anyone_waits_for_are_not_made():
  values = tuple(range(MAX_CELLS))
  _, errors = spread(BASE, Sweep(grid=(("model.seed", values),), seeds=(1, 2)))
  assert errors == ["sweep: 20000 cells; at most 10000 are possible"]


def test_only_some_cells_are_wanted_and_checked():
  cases = (*CASES, ("worse", {"strategy.kind": "disaggregated"}))
  sweep = Sweep(cases=cases, grid=(("workload.rate", (1.0, 2.0)),))
  only = (("case", ("chunked",)), ("workload.rate", (2.0,)))
  (cell,), errors = spread(BASE, sweep, only=only)
  assert errors == [] and cell.label == "chunked rate=2"


def test_a_value_that_no_cell_has_names_those_there_are():
  only = (("case", ("chunkd",)), ("cluster.split", ("2C",)))
  _, errors = spread(BASE, Sweep(cases=CASES), only=only)
  assert errors == [
      "--only=case=chunkd: no cell has it; there are continuous, chunked; did"
      " you mean 'chunked'?",
      "--only=cluster.split=2C: no cell has it; there are 1C",
  ]
  only = (("case", ("chunked",)), ("strategy.kind", ("continuous",)))
  _, errors = spread(BASE, Sweep(cases=CASES), only=only)
  assert errors == ["--only: no cell has all of these values together"]


def rates(*values):
  return Sweep(grid=(("workload.rate", values),))


def test_repeats_are_runs_of_measured_cells_alone():
  tree = BASE | {"backend": {"kind": "jax"}, "cluster": {}}
  cells, errors = spread(tree, Sweep(repeats=3))
  assert errors == [] and [cell.repeat for cell in cells] == [0, 1, 2]
  assert len({cell.id for cell in cells}) == 3
  cells, _ = spread(BASE, Sweep(repeats=3))
  assert len(cells) == 3 and len({cell.id for cell in cells}) == 1


def test_a_sample_varies_together():
  sample = (("workload.rate", (1.0, 2.0)), ("workload.seed", (5, 6)))
  cells, errors = spread(BASE, Sweep(sample=sample, cases=CASES))
  assert errors == [] and len(cells) == 4
  assert [cell.run.workload.seed for cell in cells] == [5, 6, 5, 6]


def test_where_keeps_cells_by_their_resolved_values():
  where = where_of("", "strategy.chunk_size == none or workload.rate > 1", [])
  sweep = dataclasses.replace(rates(1.0, 2.0), cases=CASES, where=where)
  cells, errors = spread(BASE, sweep)
  assert errors == []
  assert [(cell.case, cell.run.workload.rate) for cell in cells] == [
      ("continuous", 1.0), ("continuous", 2.0), ("chunked", 2.0)
  ]


def test_cells_that_where_leaves_out_may_be_wrong():
  sweep = Sweep(cases=CASES[1:], grid=(("strategy.chunk_size", (0, 128)),))
  where = where_of("", "strategy.chunk_size > 0", [])
  cells, errors = spread(BASE, dataclasses.replace(sweep, where=where))
  assert errors == [] and len(cells) == 1


def test_no_cell_left_is_one_line():
  where = where_of("", "workload.rate > 5", [])
  sweep = dataclasses.replace(rates(1.0, 2.0), where=where)
  only = (("workload.rate", (1.0,)),)
  assert spread(BASE, sweep, only=only) == (
      (), ["sweep.where: no cell meets workload.rate > 5"]
  )


def test_all_parts_count_towards_the_limit():
  sweep = dataclasses.replace(
      rates(*(float(n) for n in range(1, 102))), repeats=100
  )
  assert spread(BASE, sweep) == (
      (), [f"sweep: 10100 cells; at most {MAX_CELLS} are possible"]
  )
