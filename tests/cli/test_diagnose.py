"""`python -m pdjax.diagnose`: on folders and files, in words and in JSON."""

import json

import pytest

from pdjax.cli.diagnose import main
from pdjax.sweep import runfiles

VLLM = {
    "completed": 1000, "median_ttft_ms": 100.0, "p99_ttft_ms": 900.0,
    "median_itl_ms": 10.0, "p99_itl_ms": 12.0, "mean_ttft_ms": 200.0,
    "mean_e2el_ms": 1200.0,
}


@pytest.fixture
def told(tmp_path, monkeypatch, capsys):
  """Runs the command; returns (exit status, output, lines of errors)."""
  monkeypatch.chdir(tmp_path)

  def run(*arguments):
    capsys.readouterr()
    status = main(arguments)
    out, err = capsys.readouterr()
    return status, out, err.splitlines()

  return run


def test_an_experiment_of_ours(command, tmp_path, capsys):
  assert command("--sweep=workload.rate=20,40")[0] == 0
  assert main(["results/x", "--json"]) == 0
  findings = json.loads(capsys.readouterr().out)
  assert len(findings) == 2
  for finding in findings:
    assert "simulated run of pdjax" in finding["source"]
    assert finding["evidence"] and finding["where_ms"]
  assert main(["results/x"]) == 0
  out = capsys.readouterr().out
  assert out.count("  verdict: ") == 2 and "%  decode steps" in out
  for folder in (tmp_path / "results" / "x" / "runs").iterdir():
    holds_attribution(folder)


def test_one_damaged_run_is_left_out(command, tmp_path, capsys):
  assert command("--sweep=workload.rate=20,40,60")[0] == 0
  cut, agreed, _ = sorted((tmp_path / "results/x/runs").iterdir())
  for run in (cut, agreed):
    (run / "requests.parquet").write_bytes(b"PAR1")
  status = json.loads((agreed / "status.json").read_text())
  status["files"] = runfiles.listed(agreed)
  (agreed / "status.json").write_text(json.dumps(status))
  assert main(["results/x", "--json"]) == 0
  out, err = capsys.readouterr()
  assert len(json.loads(out)) == 1
  lines = err.splitlines()
  assert len(lines) == 2 and all(
      line.startswith("! left out, damaged: ") and run.name in line
      for run, line in zip((cut, agreed), lines, strict=True)
  )


def holds_attribution(folder):
  """What a run says of its workers agrees with its summary."""
  found = json.loads((folder / "attribution.json").read_text())
  assert [worker["role"] for worker in found["workers"]] == ["C", "C"]
  summary = json.loads((folder / "summary.json").read_text())
  assert 0 < summary["mfu[C decode]"] < summary["mbu[C decode]"] < 1
  assert summary["compute_share[C]"] == pytest.approx(
      sum(w["compute_share"] for w in found["workers"]) / 2
  )


def test_a_vllm_file(told, tmp_path):
  (tmp_path / "v.json").write_text(json.dumps(VLLM))
  status, out, err = told("v.json")
  assert (status, err) == (0, [])
  assert out.startswith("v.json: vLLM's benchmark\n  verdict: prefill_queue")
  status, out, _ = told("v.json", "--json")
  (finding,) = json.loads(out)
  assert finding["verdict"] == "prefill_queue"
  assert finding["where_ms"] == {
      "until the first token": 200.0, "after the first token": 1000.0
  }


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.json", "{", "a.json: Expecting property name"),
        ("a.json", "{}", "a.json: no known results; expected a vLLM benchmark"),
        ("a.json", '{"benchmarks": [1]}', "a.json: guidellm, benchmark 1: no"),
        ("a.json", '{"mean_ttft_ms": 1, "ttfts": ["x"]}', "ttfts: expected 1"),
        ("a.json", '{"mean_ttft_ms": 1' + 400 * "0" + "}", "a number beyond"),
        ("a.json", '{"mean_ttft_ms": 1e308}', "a.json: a number beyond 1e+24"),
        ("a.json", '{"mean_ttft_ms": 1, "ttfts": [1' + 400 * "0" + "]}",
         "ttfts: expected 1"),
        ("a.json", '{"mean_ttft_ms": 1, "ttfts": [1e308]}', "ttfts: expected"),
        ("a.json", '{"mean_ttft_ms": 1, "ttfts": [1], "itls": [[1e308]]}',
         "itls: expected 1"),
        ("a.json", 100_000 * "[", "a.json: nested too deeply"),
        ("a.csv", "ttft_ms\n" + 140_000 * "1", "field larger than"),
        ("a.csv", "ttft_ms\n1e308\n", "column ttft_ms: '1e308' is no number"),
        ("a.csv", "x,y\n1,2\n", "a.csv: expected a column ttft_ms"),
        ("a.csv", "", "a.csv: no rows"),
        ("a.csv", "\x00\xff", "a.csv: "),
    ],
)
def test_bad_files_are_one_line(told, tmp_path, name, text, line):
  (tmp_path / name).write_bytes(text.encode("latin-1"))
  status, out, err = told(name)
  assert (status, out, len(err)) == (2, "", 1)
  assert line in err[0]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["none.json"], "none.json: no such file; did you mean 'v.json'?"),
        (["."], ".: not a run's folder; if it is an export or another tool's,"
         " name the files in it, such as v.json"),
        (["empty"], "empty: not a run's folder: no summary.json"),
        (["x" * 300], f"{'x' * 300}: File name too long"),
        (["v.json", "--jsn"], "--jsn: no such flag; did you mean '--json'?"),
        (["--json"], "expected a folder or a file; see --help"),
    ],
)
def test_mistakes_are_one_line(told, tmp_path, arguments, line):
  (tmp_path / "empty").mkdir()
  (tmp_path / "v.json").write_text(json.dumps(VLLM))
  status, out, err = told(*arguments)
  assert (status, out) == (2, "")
  assert err == [line]


def test_what_can_be_read_is_told_beside_what_cannot(told, tmp_path):
  export = tmp_path / "exports" / "x-vllm"
  export.mkdir(parents=True)
  (export / "summary.json").write_text("[]")
  status, _, (line,) = told("exports/x-vllm")
  assert status == 2 and "its summary.json is not one of a run" in line
  (export / "v.json").write_text(json.dumps(VLLM))
  arguments = ("none.json", "exports/x-vllm", "exports/x-vllm/v.json")
  status, out, err = told(*arguments, "--json")
  assert status == 2
  assert [each["verdict"] for each in json.loads(out)] == ["prefill_queue"]
  assert err[0].startswith("none.json: no such file")
  assert err[1].startswith("exports/x-vllm: not a run's folder; if it is an")
  assert err[1].endswith("such as exports/x-vllm/v.json")
  assert len(err) == 2


def test_a_run_from_before_attribution_is_told(told, tmp_path):
  (tmp_path / "summary.json").write_text('{"kind": "simulated"}')
  status, _, err = told(str(tmp_path))
  assert status == 2
  assert "made by an earlier pdjax; run it again" in err[0]
