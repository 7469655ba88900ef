"""Every packaged claim says what it rests on; a bad file is told in lines."""

import copy
import json

import pytest

from pdjax.config import ConfigError
from pdjax.metrics.conditions import conditions
from pdjax.models.presets import PRESETS
from pdjax.published import claim
from pdjax.simulate.chips import CHIPS
from tests.compare.rivals import COLOCATED

EVERY = pytest.mark.parametrize("name", claim.names())


@EVERY
def test_a_claim_is_complete(name):
  found = claim.read(name)
  assert found.does_not_support and found.unknowns
  assert found.source["url"].startswith("https://")
  assert any(row.figures for row in found.rows) or found.ratios


@EVERY
def test_models_and_chips_are_those_we_know(name):
  for row in claim.read(name).rows:
    model, chip = row.contract.get("model"), row.contract.get("chip")
    assert model in (None, *PRESETS) or model.startswith("a dummy")
    assert chip in (None, *CHIPS)


@EVERY
def test_ratios_are_of_rows_or_of_systems_told(name):
  found = claim.read(name)
  labels = {row.label for row in found.rows}
  assert all(
      {ratio.of, ratio.to} & labels or "step" in ratio.figure
      for ratio in found.ratios
  )


def test_ratios_of_rows_with_figures_are_their_quotients():
  found = claim.read("distserve-figure-1")
  figures = {row.label: row.figures for row in found.rows}
  for ratio in found.ratios:
    of, to = (figures[name][ratio.figure] for name in (ratio.of, ratio.to))
    assert ratio.value == pytest.approx(of / to, abs=0.05)


def test_names_are_in_reach_and_mistyped_ones_are_told():
  assert "distserve-figure-1" in claim.names()
  with pytest.raises(ConfigError, match="did you mean 'distserve-figure-1'"):
    claim.read("distserve-figure1")


def test_contract_fields_are_those_of_the_conditions():
  assert set(claim.contract_fields()) == set(
      conditions(COLOCATED, {})["contract"]
  )


GOOD = json.loads((claim.FOLDER / "distserve-figure-1.json").read_text())
BAD = {
    "claim_type": ("claim_type", "mesured", "did you mean 'measured'"),
    "grade": ("source.grade", "rumour", "source.grade: allowed"),
    "url": ("source.url", "ftp://x", "source.url: expected https"),
    "date": ("source.date_checked", "lately", "such as 2026-01-31"),
    "field": ("contract.modell", "opt-13b", "did you mean 'model'"),
    "figure": ("rows.0.figures.x", "fast", "expected numbers or"),
    "range": ("rows.0.figures.x", [3, 2], "expected numbers or"),
    "label": ("rows.0.label", "2P1D", "a label of its own"),
    "limits": ("does_not_support", [], "every claim has its limits"),
    "other": ("claimed", "x", "claimed: no such field"),
    "sentence": ("unknowns", [3], "unknowns: expected a list of sentences"),
    "nan": ("rows.0.figures.x", float("nan"), "figures.x: expected a finite"),
    "inf": ("contract.model", float("-inf"), "contract.model: expected a fin"),
    "huge": ("ratios.0.value", [0, 10**400], "ratios[0].value[1]: expected a"),
    "ratio": ("ratios.0.value", None, "ratios[0].value: expected"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_told_in_a_line(case, tmp_path):
  path, value, words = BAD[case]
  tree = copy.deepcopy(GOOD)
  *way, last = path.split(".")
  inner = tree
  for name in way:
    inner = inner[int(name) if name.isdigit() else name]
  inner[last] = value
  file = tmp_path / "mine.json"
  file.write_text(json.dumps(tree))
  with pytest.raises(ConfigError) as told:
    claim.read(str(file))
  (line,) = told.value.errors
  assert words in line and line.startswith(str(file))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"claim": 1}', "null"])
def test_what_is_no_claim_is_a_line(text, tmp_path):
  file = tmp_path / "mine.json"
  file.write_text(text)
  with pytest.raises(ConfigError):
    claim.read(str(file))


def test_a_claim_of_ones_own(tmp_path):
  file = tmp_path / "mine.json"
  file.write_text(json.dumps(GOOD))
  assert claim.read(str(file)).name == "mine"
