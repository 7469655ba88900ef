"""The page in a real browser: nothing fails, nothing is fetched, tables sort.
"""

import pytest

from pdjax.cli import report
from pdjax.cli.experiment import main as experiment
from tests.cli.conftest import CONFIG
from tests.report.browser import CHROMIUM, opened

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium here; Debian: apt install chromium"
)


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
  """A simulated sweep: two splits, two chunk sizes, two rates."""
  place = tmp_path_factory.mktemp("swept")
  (place / "x.py").write_text(CONFIG.replace('"split": "2C"', "").replace(
      '"workload": {', '"slo": {"ttft_s": 0.05, "tpot_s": 0.02},'
      '"sweep": {"cases": ('
      '{"name": "3C 128", "cluster.split": "3C", "strategy.kind": "chunked",'
      ' "strategy.chunk_size": 128},'
      '{"name": "3C 512", "cluster.split": "3C", "strategy.kind": "chunked",'
      ' "strategy.chunk_size": 512},'
      '{"name": "1P2D", "cluster.split": "1P2D",'
      ' "strategy.kind": "disaggregated"},'
      '{"name": "2P1D", "cluster.split": "2P1D",'
      ' "strategy.kind": "disaggregated"}),'
      '"grid": {"workload": {"rate": (10., 40.)}}},"workload": {',
  ).replace('"rate": 20.0,', ""))
  assert experiment([
      f"--config={place / 'x.py'}", f"--output_dir={place / 'results'}",
  ]) == 0
  return place / "results/x"


@pytest.mark.parametrize("width", [1280, 500])
def test_every_figure_is_there_at_any_width(swept, tmp_path, width):
  seen, console = opened(swept / "report.html", tmp_path, width)
  assert console == [] and seen["requests"] == []
  assert not seen["overflow"]
  figures = dict(seen["figures"])
  assert set(figures) == {
      "goodput", "latency_by_rate", "attainment_by_rate", "latency_cdf",
      "attainment_by_slo_scale", "pareto", "roofline", "breakdown",
      "time_series", "gantt", "workload", "chunk_by_rate", "split_frontier",
  }
  assert all(widths and min(widths) > 150 for widths in figures.values())
  assert len(figures["latency_by_rate"]) == 4 and seen["tabs"] == 8
  assert seen["up"] == sorted(seen["up"]) and len(set(seen["up"])) > 1
  assert seen["down"] == seen["up"][::-1] or seen["down"] == sorted(
      seen["down"], reverse=True
  )


def test_a_single_run_opens_too(swept, tmp_path):
  run = next((swept / "runs").glob("1P2D*"))
  assert report.main(
      [str(run), f"--output_dir={tmp_path}", "--figures=none"]
  ) == 0
  seen, console = opened(tmp_path / "report.html", tmp_path)
  assert console == [] and seen["requests"] == []
  assert {"latency_cdf", "gantt", "time_series"} <= set(dict(seen["figures"]))


@pytest.mark.slow
def test_five_hundred_cells_are_one_page_still(tmp_path):
  (tmp_path / "x.py").write_text(
      CONFIG.replace(', "split": "2C"', "")
      .replace('"num_requests": 10', '"num_requests": 3')
      .replace('"rate": 20.0,', "")
      .replace(
          '"workload": {',
          '"slo": {"ttft_s": 0.05}, "strategy": {"kind": "chunked"},'
          '"sweep": {"grid": {"strategy": {"chunk_size": "log(32,512,5)"},'
          '"workload": {"rate": "lin(2,80,20)"},'
          '"cluster": {"split": ("1C", "2C", "3C", "4C", "5C")}}},'
          '"workload": {',
      )
  )
  assert experiment([
      f"--config={tmp_path / 'x.py'}", f"--output_dir={tmp_path / 'results'}",
  ]) == 0
  page = tmp_path / "results/x/report.html"
  assert page.stat().st_size < 5_000_000
  seen, console = opened(page, tmp_path)
  assert console == [] and seen["requests"] == [] and not seen["overflow"]
  assert len(seen["up"]) == 500 and seen["up"] == sorted(seen["up"])
  assert {"goodput", "chunk_by_rate"} <= set(dict(seen["figures"]))


def test_failed_runs_alone_open_too(tmp_path):
  kept = tmp_path / "failed/one-0123"
  kept.mkdir(parents=True)
  (tmp_path / "experiment.json").write_text('{"name": "x", "cells": []}')
  (kept / "status.json").write_text('{"label": "one", "message": "broken"}')
  assert report.main([str(tmp_path), "--figures=none"]) == 0
  seen, console = opened(tmp_path / "report.html", tmp_path)
  assert console == [] and seen["figures"] == []


def test_the_probe_sees_what_goes_wrong(tmp_path):
  bad = tmp_path / "bad.html"
  bad.write_text(
      '<body><img src="http://127.0.0.1:9/gone"><script>nothing()</script>'
      "</body>"
  )
  seen, console = opened(bad, tmp_path)
  assert any("nothing is not defined" in line for line in console)
  assert seen["requests"] == ["http://127.0.0.1:9/gone"]
