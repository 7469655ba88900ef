"""`pdjax.load`: tables of what is there, and nothing imported before."""

import doctest
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pdjax
from pdjax.cli.folders import results_of
from pdjax.config import ConfigError
from pdjax.results.tables import rows_table
from tests.cli.served import experiment, run_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  runs = [run_of("2C"), run_of("1P1D")]
  return experiment(tmp_path_factory.mktemp("results") / "x", runs)


def test_the_docstring_is_true(folder):
  (test,) = doctest.DocTestFinder(recurse=False).find(
      pdjax.load, globs={"load": pdjax.load, "folder": folder}
  )
  runner = doctest.DocTestRunner()
  runner.run(test)
  assert (runner.failures, runner.tries) == (0, 6)


def test_tables_have_every_run_and_request(folder):
  results = pdjax.load(folder)
  assert len(results) == 2 and results.left_out == ()
  sent = results.runs["sent"].to_pylist()
  assert sum(sent) == results.requests.num_rows
  assert set(results.requests["run"].to_pylist()) == set(
      results.runs["run"].to_pylist()
  )
  assert results.runs["cluster.split"].to_pylist() == ["2C", "1P1D"]
  assert [c["design"]["split"] for c in results.conditions] == ["2C", "1P1D"]


def test_one_run_will_do(folder):
  run = min((Path(folder) / "runs").iterdir())
  results = pdjax.load(str(run))
  assert results.runs["run"].to_pylist() == [run.name]


def test_rows_of_unlike_fields_are_one_table():
  table = rows_table([
      {"a": 1, "b": {"x": 2}, "c": 3},
      {"a": 2.5, "b": [1], "c": "many", "d": True},
  ])
  assert table.to_pylist() == [
      {"a": 1.0, "b": '{"x": 2}', "c": "3", "d": None},
      {"a": 2.5, "b": "[1]", "c": '"many"', "d": True},
  ]


def test_no_results_are_one_line(tmp_path):
  for name in ("nowhere", ".", "x" * 300):
    with pytest.raises(ConfigError) as told:
      pdjax.load(str(tmp_path / name))
    assert len(told.value.errors) == 1


@pytest.mark.parametrize("cells", [5, [5], [{"cell": 5}]])
def test_cells_of_the_wrong_shape_leave_runs_in_order_of_name(
    folder, tmp_path, cells
):
  copy = shutil.copytree(folder, tmp_path / "copy")
  (copy / "experiment.json").write_text(json.dumps({"cells": cells}))
  names = pdjax.load(str(copy)).runs["run"].to_pylist()
  assert names == sorted(names) and len(names) == 2
  (found,) = results_of(copy)
  assert [record.folder.name for record in found.records] == names


def test_importing_pdjax_imports_nothing_else():
  code = (
      "import sys; before = set(sys.modules); import pdjax; pdjax.load;"
      "new = {name.partition('.')[0] for name in set(sys.modules) - before};"
      "sys.exit(str(new - {'pdjax', 'typing', 're', 'copyreg', 'contextlib'})"
      " if new & {'jax', 'numpy', 'pyarrow', 'ml_collections'} else 0)"
  )
  done = subprocess.run(
      [sys.executable, "-c", code], capture_output=True, text=True, check=False
  )
  assert done.returncode == 0, done.stderr
