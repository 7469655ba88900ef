"""The scripts that time the engine, on a model that times nothing."""

import json
import sys

import pytest

from benchmarks import engine, engine_tables, host_gap, traces
from benchmarks.peers import lines


def test_smoke(tmp_path, capsys):
  """Ours and the floor answer; peers that are not there are told of."""
  said, page = tmp_path / "rows.json", tmp_path / "page.md"
  status = engine.main([
      "--smoke", "--only=pdjax,products,vllm",
      f"--peers_python={tmp_path / 'python'}", f"--json={said}",
      f"--markdown={page}",
  ])
  out = capsys.readouterr().out
  assert status == 0 and out.startswith(engine_tables.SMOKE)
  assert page.read_text() == out
  written = json.loads(said.read_text())
  for row in written["rows"]:
    there = row["contender"] != "vllm"
    assert (row["tokens_per_s"] is not None) is there
  vllm = written["contenders"][-1]
  assert vllm["failure"].endswith("No such file or directory")
  parts = {row["operator"] for row in written["gaps"]}
  assert {"qkv", "attention", "head", "sampling", "all"} <= parts


def test_what_is_missing_names_its_command():
  entry = lines.Entry(
      name="peer", module="benchmarks.peers.no_such_peer",
      python=sys.executable, install="pip install peer",
  )
  line = lines.Line(entry, {})
  line.wait()
  assert "No module named" in line.failure
  line.close()
  told = line._told({"failed": "ImportError: x", "missing": "x"})
  assert told == "not installed: pip install peer"
  assert line.ask("prefill", tokens=1) == {}


def test_ratios_are_of_one_round():
  rows = [
      {"case": "a", "round": number, "contender": name, "tokens": None,
       "tokens_per_s": rate}
      for name, rates in (("pdjax", (10.0, 40.0, 30.0)),
                          ("peer", (5.0, 10.0, 10.0)))
      for number, rate in enumerate(rates)
  ]
  written = engine_tables.Written(
      cases=["a"], contenders=[{"name": "pdjax"}, {"name": "peer"}], rows=rows,
      gaps=None, conditions=[],
  )
  assert "| pdjax / peer | 3.00 (2.00-4.00) |" in engine_tables.ratios(written)
  assert "| pdjax | 30 (10-40) |" in engine_tables.rates(written)


def test_unknown_contender(capsys):
  with pytest.raises(SystemExit):
    engine.main(["--only=pdjax,vlm"])
  assert "--only=vlm: one of pdjax" in capsys.readouterr().err


def test_host_gap_smoke(capsys, tmp_path):
  page = tmp_path / "gap.md"
  assert host_gap.main(["--smoke", "--batches=2", f"--markdown={page}"]) == 0
  out = capsys.readouterr().out
  assert out == page.read_text() and out.startswith(engine_tables.SMOKE)
  shares = [line.split("|")[-2] for line in out.splitlines()[-4:]]
  assert all(share.strip().endswith("%") for share in shares)


def test_products_without_a_path():
  program = """
  %dot.1 = f32[1,8]{1,0} dot(%a, %b), lhs_contracting_dims={0}
  %add.2 = f32[1,8]{1,0} add(%dot.1, %c), metadata={op_name="jit(f)/qkv/add"}
  """
  scope = traces.scope_of(program, ["qkv"])
  assert [scope(name) for name in ("dot.1", "add.2", "x")] == [
      traces.PRODUCTS, "qkv", "",
  ]
