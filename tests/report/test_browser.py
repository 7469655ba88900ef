"""The page in a real browser: nothing fails, nothing is fetched, tables sort.

Debian's Chromium, if there is one. It opens the file as a reader would, from
file://, with a script of the test added that reports what it finds.
"""

import html
import json
import re
import shutil
import subprocess

import pytest

from pdjax.cli import report
from pdjax.cli.experiment import main as experiment
from tests.cli.conftest import CONFIG

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium here; Debian: apt install chromium"
)
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
    "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--enable-logging=stderr",
    "--virtual-time-budget=3000", "--dump-dom",
)
PROBE = """
<script>
const seen = {};
const table = document.querySelector("table.sortable");
if (table) {
  const head = [...table.tHead.rows[0].cells].findIndex(
      cell => cell.textContent.startsWith("req/s/chip"));
  const column = () => [...table.tBodies[0].rows].map(
      row => Number(row.cells[head].dataset.value));
  table.tHead.rows[0].cells[head].click();
  seen.up = column();
  table.tHead.rows[0].cells[head].click();
  seen.down = column();
}
seen.figures = [...document.querySelectorAll("figure.chart")].map(
    figure => [figure.dataset.name,
               [...figure.querySelectorAll(".panel:not([hidden]) > svg")].map(
                   svg => Math.round(svg.getBoundingClientRect().width))]);
seen.overflow = document.documentElement.scrollWidth > innerWidth;
seen.tabs = document.querySelectorAll(".panel[hidden]").length;
addEventListener("load", () => {
  seen.requests = performance.getEntriesByType("resource").map(r => r.name);
  const told = document.createElement("pre");
  told.id = "told";
  told.textContent = JSON.stringify(seen);
  document.body.append(told);
});
</script>
"""


def opened(page, tmp_path, width=1280):
  """(what the probe saw, what the console said)."""
  probed = tmp_path / f"probed{width}.html"
  probed.write_text(page.read_text().replace("</body>", PROBE + "</body>"))
  done = subprocess.run(
      [CHROMIUM, *OPTIONS, f"--window-size={width},900",
       f"--user-data-dir={tmp_path / 'profile'}", probed.as_uri()],
      capture_output=True, text=True, timeout=300, check=False,
  )
  found = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)
  assert found, done.stderr[-2000:]
  console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
  return json.loads(html.unescape(found[1])), console


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
