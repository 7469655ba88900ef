"""`python -m pdjax.compare` from results on disk to its exit status."""

import json
import shutil
from pathlib import Path

import pytest

from pdjax.cli import compare
from tests.cli.served import experiment, run_of


@pytest.fixture(scope="module")
def results(tmp_path_factory):
  """Folders of experiments: x of three splits, and others of one change."""
  folder = tmp_path_factory.mktemp("results")
  seeds = (0, 1)
  handed = {"strategy": {"kind": "disaggregated", "first_token": "at_handoff"}}
  runs = {
      "x": [run_of(s, n) for s in ("2C", "1P1D", "2P2D") for n in seeds],
      "slo": [run_of("2C", n, slo={"ttft_s": 2.0}) for n in seeds],
      "draws": [
          run_of(s, 0, backend={"draw": draw})
          for s in ("2C", "1P1D") for draw in (1, 2, 3)
      ],
      "handed": [run_of("1P1D", n, **handed) for n in seeds],
  }
  return {name: experiment(folder / name, each) for name, each in runs.items()}


@pytest.fixture
def told(capsys):
  """Runs the command; returns (exit status, output, lines of errors)."""

  def run(*arguments):
    capsys.readouterr()
    status = compare.main(arguments)
    out, err = capsys.readouterr()
    return status, out, err.splitlines()

  return run


def only(side, case):
  return f"--only_{side}=case={case}"


def test_same_conditions_give_a_ratio_with_both_designs(results, told):
  status, out, errors = told(
      results["x"], results["x"], only("a", "2C"), only("b", "1P1D")
  )
  assert (status, errors) == (0, [])
  assert "A  2C" in out and "B  1P1D" in out and "SIMULATED" in out
  assert "A  chunked" in out and "B  disaggregated" in out
  assert "2 seeds paired" in out and "goodput, requests/s/chip" in out
  for anchor in ("prefill_sampled", "kv_landed", "first_decode"):
    # Attainment, TTFT and TPOT; p99s need 300 requests.
    assert out.count(f"\n  {anchor}") >= 3


def test_another_slo_is_refused_and_named(results, told):
  status, out, _ = told(results["x"], results["slo"], only("a", "2C"))
  assert status == 3
  assert "NO RATIO" in out and "slo.terms" in out and "B / A" not in out
  assert "--allow=slo" in out
  status, out, _ = told(
      results["x"], results["slo"], only("a", "2C"), "--allow=slo"
  )
  assert status == 0 and "ALLOWED" in out and "B / A" in out


def test_ttft_with_and_without_transfer_is_refused(results, told):
  status, out, _ = told(results["x"], results["handed"], only("a", "1P1D"))
  assert status == 3
  assert "first_token_anchor" in out
  assert "A  prefill_sampled" in out and "B  kv_landed" in out


def test_a_claim_with_unknowns_is_refused(told):
  rows = ("distserve-figure-1:colocated", "distserve-figure-1:2P1D")
  status, out, _ = told(*rows)
  assert status == 3 and "not told by the source: " in out
  assert told(*rows, "--allow=unknown")[0] == 3  # the systems differ too
  status, out, _ = told(*rows, "--allow=unknown,backend")
  assert status == 0 and "2.06x" in out


def test_measured_and_simulated_are_refused_whatever_is_allowed(
    results, told
):
  status, out, _ = told(
      "distserve-figure-1:2P1D", results["x"], only("b", "1P1D"),
      "--allow=unknown,backend,model,slo,chip,chips,dtype",
  )
  assert status == 3 and "never divided" in out


def test_one_folder_compares_its_designs_with_the_first(results, told):
  status, out, _ = told(results["x"], "--json")
  found = json.loads(out)
  assert status == 0
  assert [(each["a"]["label"], each["b"]["label"]) for each in found] == [
      ("2C", "1P1D"), ("2C", "2P2D"),
  ]
  assert all(each["compared"] and each["seeds"] == [0, 1] for each in found)
  assert found[0]["equal_totals"] is None
  assert found[1]["equal_totals"]["a"]["replicas"] == 2
  one = found[0]["ratios"]["mean_tpot_ms"]
  assert one["ratio"] == pytest.approx(one["b"] / one["a"])
  assert one["low"] <= one["ratio"] <= one["high"]


def test_draws_of_the_costs_are_one_design(results, told):
  status, out, _ = told(results["draws"])
  assert status == 0 and out.count("\nB  ") == 1
  flat = " ".join(out.split())
  assert "The costs were drawn 3 times" in flat and "Shown: draw 1;" in flat
  assert "Over 3 draws of the costs, highest goodput a chip:" in flat
  status, out, _ = told(results["draws"], "--json")
  (pair,) = json.loads(out)
  assert pair["over_draws"][0].startswith("Over 3 draws of the costs")
  status, out, _ = told(
      results["x"], results["x"], only("a", "2C"), only("b", "1P1D"), "--json"
  )
  (pair,) = json.loads(out)
  assert pair["over_draws"] == []
  for given in ("x", "draws"):
    _, out, _ = told(
        results[given], results[given], only("a", "2C"), only("b", "1P1D"),
        *(["--only=backend.draw=2"] if given == "draws" else []),
    )
    assert "! one set of costs: 20 draws of them" in out


def test_several_designs_meet_by_contract(results, told):
  # Both seeds' contracts are shared by two splits of A: which one is meant?
  status, _, (line,) = told(results["x"], results["handed"],
                            "--only_a=cluster.split=1P1D,2P2D",
                            "--allow=first_token_anchor")
  assert status == 2
  assert "1P1D, 2P2D; choose one with --only_a" in line
  assert "cluster.split" in line
  # Of three designs the two others than B itself are left.
  status, _, (line,) = told(results["x"], results["x"], only("b", "1P1D"))
  assert status == 2 and ": 2C, 2P2D; choose" in line


def test_a_runs_folder_will_do(results, told):
  runs = sorted((Path(results["x"]) / "runs").iterdir())
  status, out, _ = told(str(runs[0]), str(runs[-1]), "--allow=content_sha256")
  assert status == 0 and "seed " in out


def test_damaged_runs_are_left_out_and_told(results, told, tmp_path):
  shutil.copytree(results["x"], tmp_path / "x")
  first, *_ = sorted((tmp_path / "x/runs").iterdir())
  (first / "requests.parquet").write_bytes(b"short")
  status, _, (line,) = told(str(tmp_path / "x"), "--json")
  assert status == 0
  assert "left out" in line and first.name in line


@pytest.mark.parametrize("arguments, words", [
    ((), "expected A and B, got 0"),
    (("a", "b", "c"), "expected A and B, got 3"),
    (("nowhere",), "nowhere: no such folder"),
    (("x" * 300,), "no folder: File name too long"),
    (("distserve-figure1", "X"), "no such folder"),
    (("distserve-figure-1:3P", "X"), "no such row; there are colocated"),
    (("no.json",), "no.json: no such file"),
    (("X", "X", "--allow=slos"), "did you mean 'slo'?"),
    (("X", "X", "--alow=slo"), "did you mean '--allow'?"),
    (("X", "X", "--allow"), "--allow: needs a value"),
    (("X", "X", "--only_a=cluster.splitt=2C"), "--only_a: cluster.splitt"),
    (("X", "X", "--only_b=cluster.split=9C"), "--only_b=cluster.split=9C: no"),
    (("X", "X", "--only=cluster.split"), "expected FIELD=VALUES"),
    (("X", "--only_b=case=2C"), "there is no B"),
    (("X", "X", "--json=1"), "--json: takes no value"),
    (("X", "--only=case=2C"), "one design only"),
    (("distserve-figure-1", "X", "--only_a=case=2C"), "choose a row as"),
])
def test_a_mistake_is_one_line(arguments, words, results, told):
  given = [results["x"] if one == "X" else one for one in arguments]
  status, out, lines = told(*given)
  assert (status, out) == (2, "")
  assert len(lines) == 1 and words in lines[0]


def test_an_empty_folder_is_a_line(told, tmp_path):
  status, _, (line,) = told(str(tmp_path), str(tmp_path))
  assert status == 2 and "neither a finished run nor an experiment" in line


def test_claims_are_listed_and_shown(told):
  status, out, _ = told("--list_published")
  assert status == 0 and "distserve-figure-1  (measured; peer-reviewed" in out
  status, out, _ = told("mooncake-production")
  assert status == 0
  assert "vendor-reported" in out and "does not support" in out
  assert told("--help")[1] == compare.USAGE
