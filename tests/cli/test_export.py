"""`python -m pdjax.export`: round trips, and one line for each mistake."""

import csv
import json
import shutil
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

import pdjax
from pdjax.cli import export
from tests.cli.served import experiment, run_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  runs = [run_of("2C"), run_of("1P1D")]
  return experiment(tmp_path_factory.mktemp("results") / "x", runs)


@pytest.fixture
def told(capsys, tmp_path, monkeypatch):
  """Runs the command; returns (exit status, output, lines of errors)."""
  monkeypatch.chdir(tmp_path)

  def run(*arguments):
    capsys.readouterr()
    status = export.main(arguments)
    out, err = capsys.readouterr()
    return status, out, err.splitlines()

  return run


def test_vllm_reads_a_list_of_rows_and_nothing_else(folder, told, tmp_path):
  status, out, _ = told(folder, "--format=vllm")
  assert (status, out) == (0, "2 runs: exports/x-vllm\n")
  made = tmp_path / "exports/x-vllm"
  # vLLM's plots read every summary.json below, each a list of objects.
  (summary,) = made.rglob("summary.json")
  rows = json.loads(summary.read_text())
  assert [row["label"] for row in rows] == pdjax.load(folder).runs[
      "label"
  ].to_pylist()
  assert all(not isinstance(v, dict | list) for row in rows for v in
             row.values())
  for row in rows:
    files = (json.loads(path.read_text()) for path in made.glob("*-*.json"))
    (whole,) = (each for each in files if each["label"] == row["label"])
    assert row.items() <= whole.items()
    assert len(whole["ttfts"]) == whole["num_prompts"] == 40


def test_vllm_without_lists(folder, told, tmp_path):
  assert told(folder, "--format=vllm", "--nodetailed")[0] == 0
  for path in (tmp_path / "exports/x-vllm").glob("*-*.json"):
    assert "itls" not in json.loads(path.read_text())


def test_aiperf_has_a_folder_a_run(folder, told, tmp_path):
  assert told(folder, "--format=aiperf", "--only=cluster.split=2C")[0] == 0
  (path,) = tmp_path.rglob("profile_export_aiperf.csv")
  with path.open(newline="") as file:
    assert next(csv.reader(file))[:3] == ["Metric", "avg", "min"]


def test_csv_comes_back(folder, told, tmp_path):
  assert told(folder, "--format=csv", "--output_dir=out/there")[0] == 0
  made = tmp_path / "out/there"
  rows = pyarrow.csv.read_csv(made / "summary.csv")
  runs = pdjax.load(folder).runs
  assert rows.column_names == runs.column_names
  for name in ("completed", "mean_ttft_ms", "cluster.split", "kind"):
    assert rows[name].to_pylist() == runs[name].to_pylist()
  requests = [
      pyarrow.csv.read_csv(path) for path in made.glob("*.requests.csv")
  ]
  assert sorted(table.num_rows for table in requests) == [40, 40]
  assert all(
      set(table["ttft_ns"].to_pylist())
      <= set(pdjax.load(folder).requests["ttft_ns"].to_pylist())
      for table in requests
  )


def test_a_flag_that_was_not_given_is_not_named(folder, told):
  assert told(folder, "--format=csv")[0] == 0
  again = told(folder, "--format=csv")
  assert again[0] == 2
  assert again[-1][0].startswith("exports/x-csv: is there already; remove it")
  given = told(folder, "--format=csv", "--output_dir=exports/x-csv")
  assert given[-1][0].startswith("--output_dir=exports/x-csv: is there")


def test_parquet_comes_back(folder, told, tmp_path):
  assert told(folder, "--format=parquet")[0] == 0
  made = tmp_path / "exports/x-parquet"
  loaded = pdjax.load(folder)
  assert pyarrow.parquet.read_table(made / "summary.parquet").equals(
      loaded.runs
  )
  assert pyarrow.parquet.read_table(made / "requests.parquet").equals(
      loaded.requests
  )


@pytest.mark.parametrize("arguments, words", [
    (("X",), "--format: say which of vllm"),
    (("--format=csv",), "expected one DIR, got 0"),
    (("X", "--format=cvs"), "did you mean 'csv'?"),
    (("X", "--format=csv", "--format=csv"), "given twice"),
    (("X", "--fromat=csv", "--format=csv"), "did you mean '--format'?"),
    (("X", "--format=csv", "--nodetailed"), "only --format=vllm"),
    (("X", "--format=csv", "--output_dir=."), "is there already"),
    (("X", "--format=csv", "--only=cluster.split=9C"), "no cell has it"),
    (("nowhere", "--format=csv"), "no such folder"),
    (("x" * 300, "--format=csv"), "no folder: File name too long"),
    ((".", "--format=csv"), "neither a finished run nor an experiment"),
])
def test_a_mistake_is_one_line_and_leaves_nothing(
    arguments, words, folder, told, tmp_path
):
  given = [folder if one == "X" else one for one in arguments]
  status, out, lines = told(*given)
  assert (status, out) == (2, "")
  assert len(lines) == 1 and words in lines[0]
  assert list(tmp_path.iterdir()) == []


def test_a_log_that_cannot_be_read_leaves_nothing(folder, told, tmp_path):
  run = min((Path(folder) / "runs").iterdir())
  shutil.copytree(run, tmp_path / "run")
  events = tmp_path / "run/events.parquet"
  events.write_bytes(bytes(events.stat().st_size))
  status, _, (line,) = told("run", "--format=vllm")
  assert status == 2 and "not a readable event file" in line
  assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("place", ["ex", "runs/ex", "runs/RUN/a/b"])
def test_nothing_is_written_into_results(folder, told, place):
  run = min((Path(folder) / "runs").iterdir())
  target = Path(folder) / place.replace("RUN", run.name)
  status, out, (line,) = told(
      folder, "--format=csv", f"--output_dir={target}"
  )
  assert (status, out) == (2, "") and "inside the results in " in line
  assert not target.exists() and not (run / "a").exists()


def test_help(told):
  assert told("--help") == (0, export.USAGE, [])
