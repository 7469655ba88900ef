"""`python -m pdjax.report`: a page of an experiment, of a run, of failures."""

import dataclasses
import gzip
import json
import re
import shutil

import pytest

from pdjax.cli import folders, report
from pdjax.cli.experiment import main as experiment
from pdjax.sweep import runfiles
from tests.cli.conftest import CONFIG

SWEEP = (
    "--sweep=workload.rate=10,40", "--config.slo.ttft_s=0.05",
    "--config.slo.tpot_s=0.02",
)


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
  """The folder of an experiment with two designs at two rates."""
  place = tmp_path_factory.mktemp("swept")
  (place / "x.py").write_text(CONFIG.replace(
      '"cluster": {"chip": "h100-sxm", "split": "2C"},',
      '"cluster": {"chip": "h100-sxm"}, "sweep": {"cases": ('
      '{"name": "2C", "cluster.split": "2C", "strategy.kind": "chunked"},'
      '{"name": "1P1D", "cluster.split": "1P1D",'
      ' "strategy.kind": "disaggregated"})},',
  ))
  status = experiment([
      f"--config={place / 'x.py'}", f"--output_dir={place / 'results'}",
      *SWEEP,
  ])
  assert status == 0
  return place / "results/x"


def test_an_experiment_ends_with_its_page(swept):
  text = (swept / "report.html").read_text()
  assert text.startswith("<!doctype html>") and text.endswith("</html>\n")
  for name in (
      "goodput", "latency_by_rate", "attainment_by_rate", "latency_cdf",
      "attainment_by_slo_scale", "pareto", "roofline", "breakdown",
      "time_series", "gantt", "workload",
  ):
    assert f'data-name="{name}"' in text, name
  for name in ("chunk_by_rate", "split_frontier"):
    assert f'data-absent="{name}"' in text, name
  assert "SLO: TTFT ≤ 0.05 s and TPOT ≤ 0.02 s for 90% of requests" in text
  assert "python -m pdjax.cli.cell" in text  # how to repeat a run
  assert not re.search(r'(src|href|url)\s*[=(]\s*"?(https?:)?//', text)
  assert not (swept / "figures").exists()


def test_a_page_of_the_same_runs_stays(swept, monkeypatch):
  page = swept / "report.html"
  before = page.read_text()
  monkeypatch.setattr(report, "write", None)
  assert report.remake(swept) == page
  monkeypatch.undo()
  page.write_text(before[:-30])
  assert report.remake(swept) == page and page.read_text() == before


def test_figures_are_written_with_their_data(swept, tmp_path, monkeypatch):
  keep = ("attainment_by_rate",)
  made = report._report

  def few(found):
    told = made(found)
    figures = [
        dataclasses.replace(
            one, charts=tuple(c for c in one.charts if c.name in keep)
        )
        for one in told.figures
    ]
    return dataclasses.replace(told, figures=figures)

  monkeypatch.setattr(report, "_report", few)
  assert report.main([str(swept), f"--output_dir={tmp_path}"]) == 0
  names = {path.name for path in (tmp_path / "figures").iterdir()}
  assert names == {"made_from.json"} | {
      f"{name}.{kind}" for name in keep for kind in ("svg", "png", "pdf", "csv")
  }
  png = tmp_path / "figures/attainment_by_rate.png"
  assert png.read_bytes().startswith(b"\x89PNG")
  data = (tmp_path / "figures/attainment_by_rate.csv").read_text()
  assert "simulated," in data and ",1P1D," in data
  # Another report there drops them.
  assert report.main(
      [str(swept), f"--output_dir={tmp_path}", "--figures=none"]
  ) == 0
  assert list((tmp_path / "figures").iterdir()) == []


def test_one_run_has_a_page_and_a_trace(swept, tmp_path, capsys):
  run = next((swept / "runs").glob("1P1D*"))
  assert report.main(
      [str(run), f"--output_dir={tmp_path}", "--figures=none"]
  ) == 0
  assert capsys.readouterr().out.split() == [
      str(tmp_path / "report.html"), str(tmp_path / "trace.json.gz"),
  ]
  trace = json.loads(gzip.decompress(
      (tmp_path / "trace.json.gz").read_bytes()
  ))
  assert {e["ph"] for e in trace["traceEvents"]} == {*"MXstfC"}
  text = (tmp_path / "report.html").read_text()
  assert 'data-name="gantt"' in text


def test_failures_alone_make_a_page(tmp_path):
  kept = tmp_path / "failed/one-0123"
  kept.mkdir(parents=True)
  (tmp_path / "experiment.json").write_text('{"name": "x", "cells": []}')
  (kept / "status.json").write_text(json.dumps({
      "label": "one", "state": "failed", "message": "<script>alert(1)",
  }))
  assert report.main([str(tmp_path), "--figures=none"]) == 0
  text = (tmp_path / "report.html").read_text()
  assert "No run finished" in text
  assert "&lt;script&gt;alert(1)" in text and "<script>alert" not in text


@pytest.mark.parametrize("arguments, told", [
    (["nowhere"], "nowhere: no such folder"),
    (["x" * 300], "no folder: File name too long"),
    ([], "expected one DIR, got 0"),
    (["a", "--figure=png"], "did you mean '--figures'"),
    (["a", "--figures=jpg"], "'jpg' is no kind; allowed: svg, png, pdf, none"),
    ([".", "--figures=none"], ".: no results; expected the folder"),
])
def test_mistakes_are_a_line(arguments, told, tmp_path, monkeypatch, capsys):
  monkeypatch.chdir(tmp_path)
  assert report.main(arguments) == 2
  (line,) = capsys.readouterr().err.splitlines()
  assert told in line


def test_a_full_disk_is_a_line_and_leaves_no_half(
    swept, tmp_path, monkeypatch, capsys
):
  from pdjax.report import paper

  def full(chart, stem, kinds):
    stem.with_name(f"{stem.name}.png").write_bytes(b"half")
    raise OSError(28, "No space left on device")

  monkeypatch.setattr(paper, "write", full)
  assert report.main([str(swept), f"--output_dir={tmp_path}"]) == 2
  assert capsys.readouterr().err == (
      f"--output_dir={tmp_path}: No space left on device\n"
  )
  assert not [*(tmp_path / "figures").iterdir()]


def _halve(path):
  path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _make_folder(path):
  path.unlink()
  path.mkdir()


@pytest.mark.parametrize("damage", [
    lambda path: path.unlink(), _halve, _make_folder,
])
@pytest.mark.parametrize("name", ["provenance.json", "requests.parquet"])
@pytest.mark.parametrize("agrees", [False, True])
def test_a_damaged_run_is_named_and_left_out(
    swept, tmp_path, capsys, monkeypatch, name, damage, agrees
):
  folder = tmp_path / "x"
  shutil.copytree(swept, folder)
  run = next((folder / "runs").glob("1P1D*"))
  damage(run / name)
  if agrees:
    status = json.loads((run / "status.json").read_text())
    status["files"] = runfiles.listed(run)
    (run / "status.json").write_text(json.dumps(status))
  monkeypatch.setattr(report, "write", lambda found, *_: shown.append(found))
  shown = []
  assert report.main([str(run)]) == 2
  (line,) = capsys.readouterr().err.splitlines()
  assert str(run) in line and name in line and not shown
  (found,) = folders.results_of(folder)
  assert len(found.records) == 3
  assert [run.name] == [one.label for one in found.failed]
  assert name in found.failed[0].message and len(found.left_out) == 1


def test_a_page_names_the_damaged_run(swept, tmp_path, capsys):
  folder = tmp_path / "x"
  (folder / "runs").mkdir(parents=True)
  shutil.copy(swept / "experiment.json", folder)
  run = folder / "runs/one-0123"
  shutil.copytree(next((swept / "runs").glob("1P1D*")), run)
  _halve(run / "events.parquet")
  assert report.main([str(folder), "--figures=none"]) == 0
  err = capsys.readouterr().err
  assert err.startswith(f"! left out: {run}: events.parquet has ")
  page = (folder / "report.html").read_text()
  assert 'id="failed"' in page and "events.parquet has " in page


@pytest.mark.parametrize("text", [
    "[", "[1]", '{"rivals": 5}', '{"rivals": [3]}',
    '{"rivals": [{"bracket": {"low_per_chip": 1}, "rival": "a"}]}',
    '{"rivals": [{"bracket": {"low_per_chip": "x", "high_per_chip": null,'
    ' "stopped": "", "reason": ""}, "rival": "a", "family": "", "design": {}}]}'
])
def test_a_search_of_another_shape_is_left_out(tmp_path, capsys, text):
  (tmp_path / "experiment.json").write_text('{"name": "x", "cells": []}')
  (tmp_path / "search.json").write_text(text)
  assert report.main([str(tmp_path), "--figures=none"]) == 0
  assert "search.json: not as a search writes it" in capsys.readouterr().err
  page = (tmp_path / "report.html").read_text()
  assert "not as a search writes it" in page
