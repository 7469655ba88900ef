"""Sweeps spread into cells; equal cells merge; names and ids hold."""

import dataclasses

import pytest

from pdjax.sweep.cells import distinct
from pdjax.sweep.spread import Sweep, spread

BASE = {"cluster": {"chip": "h100-sxm"}, "workload": {"rate": 1.0}}
TRACE = {"cluster": {"chip": "h100-sxm"}, "workload": {"kind": "azure"}}
CASES = (
    ("continuous", {"strategy.kind": "continuous"}),
    ("chunked", {"strategy.kind": "chunked"}),
)
SIZES = ("strategy.chunk_size", (128, 256, 512))


def cells_of(sweep, tree=BASE):
  cells, errors = spread(tree, sweep)
  assert errors == []
  return distinct(cells)


def test_no_sweep_is_one_cell():
  (cell,) = cells_of(Sweep()).cells
  assert cell.label == cell.slug == "continuous"
  assert cell.folder_name == f"continuous-{cell.id[:12]}"


def test_a_field_that_a_strategy_never_reads_merges_its_cells():
  cells = cells_of(Sweep(cases=CASES, grid=(SIZES,)))
  assert [cell.label for cell in cells.cells] == [
      "continuous", "chunked chunk_size=128", "chunked chunk_size=256",
      "chunked chunk_size=512",
  ]
  assert cells.merged == 2
  assert cells.cells[0].run.strategy.chunk_size is None


def test_a_default_said_and_unsaid_is_the_same_cell():
  said = cells_of(Sweep(cases=CASES[1:], grid=(SIZES,))).cells[-1]
  (unsaid,) = cells_of(Sweep(cases=CASES[1:])).cells
  assert said.id == unsaid.id


def test_grid_multiplies_and_zip_does_not():
  rates = ("workload.rate", (1.0, 2.0))
  seqs = ("strategy.max_num_seqs", (8, 16))
  assert len(cells_of(Sweep(grid=(rates, seqs))).cells) == 4
  labels = [c.label for c in cells_of(Sweep(zip=(rates, seqs))).cells]
  assert labels == ["rate=1 max_num_seqs=8", "rate=2 max_num_seqs=16"]


def test_seeds_of_what_draws_nothing_are_one_cell():
  grid = (("workload.jitter_s", (0.0, 0.5)),)
  cells, errors = spread(TRACE, Sweep(grid=grid, seeds=(0, 1, 2)))
  found = distinct(cells)
  assert not errors and (len(found.cells), found.merged) == (4, 2)
  _, errors = spread(TRACE, Sweep(seeds=(0, 1, 2)))
  (line,) = errors
  assert line.startswith("workload.seed: applies to no cell of the sweep: it")
  assert "workload.arrival='poisson' keeps the lengths" in line


def test_seeds_are_of_the_workload():
  cells = cells_of(Sweep(seeds=(0, 1))).cells
  assert [cell.run.workload.seed for cell in cells] == [0, 1]


def test_fields_that_end_alike_are_named_in_full():
  grid = (("model.seed", (1,)), ("workload.seed", (2,)))
  tree = {"backend": {"kind": "jax"}, "workload": {"rate": 1.0}}
  (cell,) = cells_of(Sweep(grid=grid), tree).cells
  assert cell.label == "model.seed=1 workload.seed=2"


def test_the_variable_for_kernels_is_part_of_what_a_run_is(monkeypatch):
  tree = {
      "backend": {"kind": "jax"}, "workload": {"rate": 1.0},
      "engine": {"kernels": "xla"},
  }
  (said,) = cells_of(Sweep(), tree).cells
  monkeypatch.setenv("PDJAX_KERNELS", "pallas_interpret")
  (cell,) = cells_of(Sweep(), tree).cells
  assert cell.run.engine.kernels == "pallas_interpret"
  assert cell.id != said.id
  assert cells_of(Sweep()).cells[0].run.engine.kernels == "auto"  # simulated
  monkeypatch.setenv("PDJAX_KERNELS", "palas")
  _, (line,) = spread(tree, Sweep())
  assert "engine.kernels" in line and "palas" in line


def test_repeats_are_told_apart_on_devices_only():
  sweep = Sweep(grid=(("repeat", (0, 1)),))
  assert len(cells_of(sweep).cells) == 1
  tree = {"backend": {"kind": "jax"}, "workload": {"rate": 1.0}}
  first, second = cells_of(sweep, tree).cells
  assert first.run == second.run and first.id != second.id


def test_files_count_by_content_and_not_by_path():
  (cell,) = cells_of(Sweep()).cells

  def named(trace, weights, content):
    run = dataclasses.replace(
        cell.run,
        workload=dataclasses.replace(cell.run.workload, path=trace),
        model=dataclasses.replace(cell.run.model, weights=weights),
    )
    return dataclasses.replace(cell, run=run, inputs=(content,)).id

  one = named("a.csv", "a.gguf", "1")
  assert one == named("b.csv", "b.gguf", "1") != named("a.csv", "a.gguf", "2")
  assert one != named("a.csv", "random", "1")


def test_slugs_are_file_names():
  sweep = Sweep(grid=(("workload.prompt.kind", ("fixed",)),
                      ("cluster.split", ("2C",))))
  (cell,) = cells_of(sweep).cells
  assert cell.slug == "kind=fixed,split=2C"
  (odd,) = cells_of(Sweep(cases=(("a/b: ü ", {}),))).cells
  assert "/" not in odd.slug and odd.slug


@pytest.mark.parametrize(
    ("name", "slug"),
    [(".hidden", "hidden"), ("..", "cell"), ("/", "cell"), ("-rf", "rf"),
     ("é" * 90, "é" * 40)],
)
def test_slugs_are_seen_and_short(name, slug):
  (cell,) = cells_of(Sweep(cases=((name, {}),))).cells
  assert cell.slug == slug


def test_a_label_is_one_line_whatever_was_swept():
  paths = ("workload.path", ("a\nb", "\ud800"))
  tree = BASE | {"workload": {"kind": "azure"}}
  labels = [c.label for c in cells_of(Sweep(grid=(paths,)), tree).cells]
  assert labels == ["path='a\\nb'", "path='\\ud800'"]
