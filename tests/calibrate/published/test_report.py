"""The document: what is met and missed, from readings alone."""

import json

from experiments import fidelity_table
from pdjax.calibrate.published import report
from pdjax.calibrate.published.pd_trade import Compared
from pdjax.calibrate.published.readings import ScalarSet
from pdjax.calibrate.published.sources import Hardware
from tests.calibrate.published.test_readings import reading

SOURCES = (
    "layer times", "all_reduce, one host", "send_recv, 2 hosts",
    "DistServe decode", "Splitwise tokens", "vLLM of 2024 decode",
    "Llama-70B H100 TPOT", "KV transfers H800",
)


def hardware():
  """One tested reading a source: 5 % off, or 21.25 % at its own scalars."""
  readings = [
      reading(
          lambda s: 100 * (1 + s.hbm_efficiency / 4), 100.0, source=source,
          fitted=fitted,
      )
      for source in SOURCES
      for fitted in (True, False)
  ]
  return Hardware(
      name="a chip", families=("a",), readings=tuple(readings), start={},
      assumed={}, evaluations=1, fitted_on="one of two",
  )


def row_of(text, start):
  (line,) = (li for li in text.splitlines() if li.startswith(f"| {start} |"))
  return [cell.strip() for cell in line.strip("|").split("|")]


TRADE = [
    Compared("TTFT", (300.0, 150.0), (200.0, 160.0), (1.1, 1.25, 1.5)),
    Compared("ITL", (7.0, 10.0), (9.0, 8.0), (1.0, 1.125, 1.2)),
]


def test_targets_are_judged_on_the_tested_part():
  within = ScalarSet({"hbm_efficiency": 0.2}, {}, 1)
  text = report.document([hardware()], [within], TRADE)
  row = row_of(text, "TPOT of Llama-70B on H100 under vLLM")
  assert row[1:4] == ["1", "21.2 %", "5.0 %"]
  assert row[-1] == "met: mean 5.0 % (target 8.0 %)"
  beyond = ScalarSet({"hbm_efficiency": 0.5}, {}, 1)
  text = report.document([hardware()], [beyond], TRADE)
  row = row_of(text, "Layer times on A100")
  assert row[-1] == "**missed**: median 12.5 % (target 10.0 %)"


def test_the_trade_is_shown_with_its_errors():
  text = report.document([hardware()], [ScalarSet()], TRADE)
  assert row_of(text, "TTFT")[1:] == [
      "-33%", "+7%", "2.00", "1.25 (1.10 to 1.50)", "yes"
  ]
  assert row_of(text, "ITL")[-1] == "**no**"


def test_an_entry_is_what_the_simulator_keeps():
  told = report.entry(
      hardware(), ScalarSet({"hbm_efficiency": 0.2}, {"e": {"launch_s": 1}}, 2)
  )
  assert told["scalars"] == {"hbm_efficiency": 0.2}
  assert told["tested_readings"] == len(SOURCES)
  assert told["tested_median_error"] == 0.05


def test_the_script_prints_the_headline_and_where_it_wrote(tmp_path):
  out, scalars = tmp_path / "page.md", tmp_path / "fitted.json"
  found = ScalarSet(hardware={"hbm_efficiency": 0.8})
  lines = fidelity_table.write([hardware()], [found], [], out, scalars)
  told = "\n".join(lines)
  table = report.headline([hardware()], [found])
  assert table in told and table in out.read_text()
  assert "Layer times on A100" in table and "Of these, within a host" in table
  assert f"document: {out}" in told and f"fitted scalars: {scalars}" in told
  (entry,) = json.loads(scalars.read_text())
  assert entry["scalars"] == {"hbm_efficiency": 0.8}
