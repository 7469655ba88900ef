"""A measured cell from the command line, on virtual CPU devices."""

import gzip
import json

import pyarrow.parquet as pq

from pdjax.engine.replica import Replica
from tests.report import browser
from tests.timeline.test_perfetto import assert_nested, lanes

CONFIG = '''"""Do tokens depend on the strategy?"""


def get_config():
  return {
      "backend.kind": "jax",
      "model": {"preset": "tiny", "dtype": "float32"},
      "cluster": {"host_devices": 2, "kv_tokens": 512},
      "strategy.max_num_seqs": 2,
      "workload": {
          "rate": 50.0,
          "num_requests": 3,
          "prompt": {"mean": 20},
          "output": {"mean": 4},
      },
      "sweep": {"cases": (
          {"name": "alone", "cluster.split": "1C",
           "strategy.kind": "chunked", "strategy.chunk_size": 16},
          {"name": "split", "cluster.split": "1P1D",
           "strategy.kind": "disaggregated", "strategy.chunk_size": 16},
      )},
  }
'''


def test_two_strategies_on_devices(command, folder, monkeypatch):
  monkeypatch.setenv("PDJAX_CACHE", str(folder / "cache"))
  (folder / "x.py").write_text(CONFIG)
  status, out, errors = command()
  assert (status, errors) == (0, [])
  assert "MEASURED" in out and "2 devices share" in out
  assert "Tokens of split and alone: 3 of 3 requests identical" in out
  rows = json.loads((folder / "results/x/summary.json").read_text())
  for row in rows:
    assert row["completed"] == 3
    assert row["compiles_in_window"] == row["pages_leaked"] == 0
    assert row["verified_tokens"] == row["verified_tokens_equal"] == 12
    run = folder / "results/x" / row["run"]
    design = json.loads((run / "conditions.json").read_text())["design"]
    for pool in design["pools"]:
      assert (pool["chip"], pool["kv_tokens"]) == ("cpu", 512)
      assert pool["pool_pages"] == 512 // design["page_tokens"]
    packed = (run / "trace.json.gz").read_bytes()
    told = json.loads(gzip.decompress(packed))["traceEvents"]
    slices = lanes([event for event in told if event["ph"] == "X"])
    assert slices
    for each in slices.values():
      assert_nested(each)
    table = pq.read_table(run / "tokens.parquet")
    assert [len(answer) for answer in table["tokens"].to_pylist()] == [4] * 3
  _assert_report_opens(folder / "results/x/report.html", folder)


def _assert_report_opens(page, folder):
  """In a browser, where there is one: nothing fails, nothing is fetched."""
  text = page.read_text()
  assert "measured" in text and len(text) < 5_000_000
  if browser.CHROMIUM:
    seen, console = browser.opened(page, folder)
    assert console == [] and seen["requests"] == [] and not seen["overflow"]
    shown = {name for name, widths in seen["figures"] if widths}
    assert {"latency_cdf", "breakdown", "gantt", "workload"} <= shown
    assert seen["up"] == sorted(seen["up"])


BREAKS = '''"""A rule in whose run the thread of a worker dies."""

from pdjax.engine.replica import Replica
from pdjax.schedule.batching import Continuous


def rule():
  Replica.decode = fails
  return Continuous()


def fails(self, feed, rows):
  raise FloatingPointError("lost a bit")
'''
LOSES = '''"""Does a run survive its worker?"""


def get_config():
  return {
      "backend.kind": "jax",
      "model": {"preset": "tiny", "dtype": "float32"},
      "cluster": {"host_devices": 1, "kv_tokens": 512},
      "workload": {
          "rate": 50.0,
          "num_requests": 3,
          "prompt": {"mean": 20},
          "output": {"mean": 4},
      },
      "faults.events": ({
          "kind": "worker_lost", "request": 1, "state": "decode",
          "down_s": 0.05,
      },),
      "sweep": {"cases": (
          {"name": "lost", "strategy.kind": "continuous"},
          {"name": "broken", "strategy.kind": "breaks:rule"},
      )},
  }
'''


def test_a_lost_worker_is_no_failure_and_a_dead_thread_is_one_line(
    command, folder, monkeypatch
):
  monkeypatch.setenv("PDJAX_CACHE", str(folder / "cache"))
  # The rule is also made in this process, to see that it can be.
  monkeypatch.setattr(Replica, "decode", Replica.decode)
  (folder / "x.py").write_text(LOSES)
  (folder / "breaks.py").write_text(BREAKS)
  status, out, errors = command()
  assert status == 1
  lines = [line for line in (out + "\n".join(errors)).splitlines()
           if "lost a bit" in line and "FAILED" in line]
  assert lines and all(
      "EngineError: worker 0 failed: FloatingPointError: lost a bit" in line
      for line in lines
  )
  (row,) = json.loads((folder / "results/x/summary.json").read_text())
  assert row["completed"] == 3 and row["workers_lost"] == 1
  assert row["compiles_in_window"] == row["pages_leaked"] == 0
  assert row["restarts"] >= 1 and row["lost_share[C]"] > 0
  assert row["verified_tokens"] == row["verified_tokens_equal"] == 12
  conditions = folder / "results/x" / row["run"] / "conditions.json"
  contract = json.loads(conditions.read_text())["contract"]
  assert contract["faults"]["events"][0]["kind"] == "worker_lost"
