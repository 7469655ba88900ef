"""`python -m pdjax.diagnose`: on folders and files, in words and in JSON."""

import json

import pytest

from pdjax.cli import compare, report
from pdjax.cli.diagnose import main
from pdjax.diagnose import overview
from pdjax.diagnose.finding import Finding
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
  assert main(["results/x", "--details"]) == 0
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
      line.startswith("! left out: ") and run.name in line
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
        (["--json"], "expected a folder or a file, got 0; see --help"),
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
  assert "summary.json has no first_token_anchor; make its runs again" in err[0]


def test_seeds_are_folded_into_a_line(command, capsys):
  asked = ("--sweep=workload.rate=20,40", "--seeds=0-2")
  assert command(*asked)[0] == 0
  assert main(["results/x"]) == 0
  first, second, blank, *more = capsys.readouterr().out.splitlines()
  for line, rate in ((first, 20), (second, 40)):
    assert line.startswith(f"rate={rate} ") and "3 of 3 seeds  " in line
    assert "%  " in line and ": decode" in line
  assert blank == "" and "--details" in more[-1]
  assert main(["results/x", "--details"]) == 0
  assert capsys.readouterr().out.count("  verdict: ") == 6
  assert main(["results/x", "--json"]) == 0
  assert len(json.loads(capsys.readouterr().out)) == 6


def test_draws_of_the_costs_are_folded_too(command, capsys):
  asked = ("--sweep=backend.draw=1,2", "--seeds=0-1")
  assert command(*asked)[0] == 0
  assert main(["results/x"]) == 0
  line, blank, *_ = capsys.readouterr().out.splitlines()
  assert "4 of 4 runs  " in line and "draw" not in line and blank == ""


def test_seeds_that_disagree_are_counted():
  found = [
      Finding(source="", verdict=verdict, evidence=(), share=share)
      for verdict, share in (
          ("prefill", 0.2), ("transfer", 0.3), ("transfer", 0.5),
          ("cannot_tell", None),
      )
  ]
  alone = Finding(source="", verdict="cannot_tell", evidence=())
  lines = list(overview.lines([
      overview.Design(label="2P2D", findings=tuple(found)),
      overview.Design(label="4C static", findings=(alone,)),
  ]))
  assert lines[0].split()[:6] == ["2P2D", "40%", "2", "of", "4", "seeds"]
  assert "transfer: the hand-off" in lines[0]
  assert lines[1].startswith("4C static          1 of 1 seeds  cannot_tell")


def test_a_file_of_ours_is_its_folder(command, capsys, tmp_path):
  assert command()[0] == 0
  (run,) = (tmp_path / "results/x/runs").iterdir()
  assert main([str(run), "--json"]) == 0
  wanted = capsys.readouterr().out
  for file in (
      run / "summary.json", run / "requests.parquet", run / "events.parquet",
      tmp_path / "results/x/summary.json",
  ):
    assert main([str(file), "--json"]) == 0
    out, err = capsys.readouterr()
    assert out == wanted
    assert err == f"{file}: of pdjax's own; takes its folder {file.parent}\n"
    (tmp_path / "alone").write_bytes(file.read_bytes())
    assert main([str(tmp_path / "alone")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1 and "name" in err
    assert "of pdjax" in err


def test_other_commands_name_the_folder_of_a_file_of_ours(
    command, capsys, tmp_path
):
  assert command()[0] == 0
  (run,) = (tmp_path / "results/x/runs").iterdir()
  for file in (run / "summary.json", tmp_path / "results/x/summary.json"):
    for other in (compare, report):
      assert other.main([str(file)]) == 2
      assert capsys.readouterr().err == (
          f"{file}: is a file, not a folder of results; did you mean"
          f" {str(file.parent)!r}?\n"
      )
