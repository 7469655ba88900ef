"""Another SLO is another verdict on the same log, not another run."""

import ast
import json
from pathlib import Path

import pytest

import pdjax
from pdjax import config
from pdjax.cli import remake
from pdjax.sweep.cells import Cell

SLO = "--config.slo.ttft_s=0.009"
SPLIT = "--config.cluster.split=1P1D"
DISAGGREGATED = "--config.strategy.kind=disaggregated"


def only_run(folder, top, limit):
  (run,) = [
      run
      for run in (folder / top / "x/runs").iterdir()
      if json.loads((run / "config.json").read_text())["slo"]["ttft_s"] == limit
  ]
  return run


STEADY = ("--config.workload.protocol=steady",
          "--config.workload.num_requests=none",
          "--config.workload.duration_s=2")


@pytest.mark.parametrize("more", [(), (SPLIT, DISAGGREGATED), STEADY])
def test_a_run_made_again_is_the_run_it_would_have_been(command, folder, more):
  command(*more)
  _, out, _ = command(SLO, *more)
  command(SLO, "--output_dir=other", *more)
  assert "metrics made from the log of " in out
  ours, theirs = (only_run(folder, top, 0.009) for top in ("results", "other"))
  for path in theirs.iterdir():
    if path.name not in ("provenance.json", "status.json"):
      assert (ours / path.name).read_bytes() == path.read_bytes(), path.name
  assert {path.name for path in ours.iterdir()} == {
      path.name for path in theirs.iterdir()
  }


def test_where_the_metrics_are_from_is_said(command, folder):
  command()
  command(SLO)
  source, run = only_run(folder, "results", None), only_run(
      folder, "results", 0.009
  )
  status = json.loads((run / "status.json").read_text())
  assert status["metrics_from"] == source.name
  told = json.loads((run / "provenance.json").read_text())
  assert told["metrics_made"]["from"] == source.name
  assert f"runs/{run.name}/" in told["repeat"]
  _, out, _ = command(SLO)
  assert "done before" in out


def test_a_sweep_of_limits_serves_once(command, folder):
  _, out, _ = command("--sweep=slo.ttft_s=0.001,0.009,1")
  assert out.count("done in ") == 1
  assert out.count("metrics made from the log of ") == 2
  rows = json.loads((folder / "results/x/summary.json").read_text())
  met = {row["slo.ttft_s"]: row["slo_attainment"] for row in rows}
  assert met[0.001] == 0 and met[1.0] == 1


def test_what_cannot_be_made_exactly_is_served(command, folder, monkeypatch):
  command()

  def refuse(*_):
    raise remake.NotExact("not the same")

  monkeypatch.setattr(remake, "_summary", refuse)
  status, out, _ = command(SLO)
  assert status == 0 and "is served again: not the same" in out
  assert out.count("done in ") == 1


def test_another_summary_of_the_old_run_is_not_exact(command, folder):
  command()
  run = only_run(folder, "results", None)
  summary = json.loads((run / "summary.json").read_text())
  config = remake.schema.run_from_tree(
      json.loads((run / "config.json").read_text())
  )
  (run / "summary.json").write_text(json.dumps(summary | {"duration": 1.0}))
  (folder / "new").mkdir()
  with pytest.raises(remake.NotExact):
    remake.remake(config, run, folder / "new")


def test_nothing_that_serves_reads_the_slo():
  """Else runs that differ in it alone would not be the same work."""
  root = Path(pdjax.__file__).parent
  for part in ("schedule", "simulate", "engine", "workload"):
    for path in (root / part).rglob("*.py"):
      tree = ast.parse(path.read_text())
      names = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
      if path.name != "setup.py":  # gives adaptive_chunk its limit
        assert "slo" not in names, path


def test_what_a_policy_steers_by_is_part_of_the_work():
  def work(kind, tpot_s):
    run = config.Run(
        strategy=config.Strategy(kind=kind), slo=config.SLO(tpot_s=tpot_s)
    )
    return Cell(run=run, case="", swept={}).work_id

  assert work("chunked", 0.1) == work("chunked", 0.2)
  assert work("adaptive_chunk", 0.1) != work("adaptive_chunk", 0.2)
