"""The command from the outside: exit status, what it says, what it leaves."""

import json
import os
import shlex
import subprocess
import sys

import pytest

from pdjax.cli import cell, hostmemory


def files(folder):
  return {
      os.path.relpath(os.path.join(root, name), folder)
      for root, _, names in os.walk(folder)
      for name in names
  }


def rows(folder):
  return json.loads((folder / "results/x/summary.json").read_text())


def test_mistakes_of_all_kinds_are_told_together(command, folder):
  status, _, errors = command(
      "--config.strategy.chunk_sise=3", "--config.cluster.split=foo",
      "--config.model.preset=llama-9", "--config.cluster.chip=foo",
      "--config.workload.rate=-1",
  )
  told = [line.partition(":")[0].partition("=")[0] for line in errors]
  assert status == 2 and sorted(told) == [
      "cluster.chip", "cluster.split", "model.preset", "strategy.chunk_sise",
      "workload.rate",
  ]
  assert not (folder / "results").exists()


def test_one_run_writes_the_whole_layout(command, folder):
  status, out, errors = command()
  assert (status, errors) == (0, [])
  assert out.startswith("x: Which strategy is best on a tiny load?\n1 cell\n")
  assert "SIMULATED" in out and "results/x" in out
  (run,) = (folder / "results/x/runs").iterdir()
  assert files(run) == {
      "config.json", "conditions.json", "provenance.json", "status.json",
      "summary.json", "requests.parquet", "events.parquet",
      "attribution.json",
  }
  assert files(folder / "results/x") >= {
      "experiment.json", "summary.json", "summary.csv", "report.html",
  }
  (row,) = rows(folder)
  assert row["label"] == "continuous" and row["completed"] == 10
  assert row["strategy.kind"] == "continuous" and row["workload.rate"] == 20.0


def test_a_simulated_run_works_without_jax(folder):
  code = (
      "import sys; sys.modules['jax'] = None;"
      "from pdjax.cli.experiment import main; sys.exit(main(['--config=x']))"
  )
  done = subprocess.run(
      [sys.executable, "-c", code], capture_output=True, text=True, check=False
  )
  assert done.returncode == 0, done.stderr + done.stdout


def test_dates_and_hosts_are_in_two_files_only(command, folder):
  command()
  (run,) = (folder / "results/x/runs").iterdir()
  for name in ("config", "conditions", "summary"):
    text = (run / f"{name}.json").read_text()
    assert os.uname().nodename not in text and "seconds" not in text


def test_a_done_cell_is_not_run_again(command, folder, monkeypatch):
  command()
  before = (folder / "results/x/summary.json").read_bytes()
  monkeypatch.setattr(
      cell, "run_cell", lambda *_: pytest.fail("ran again")
  )
  status, out, _ = command()
  assert status == 0 and "done before" in out
  assert (folder / "results/x/summary.json").read_bytes() == before


def test_a_stale_cell_is_run_again(command, folder):
  command()
  (run,) = (folder / "results/x/runs").iterdir()
  status = json.loads((run / "status.json").read_text())
  status["made_by"]["source_sha256"] = "other"
  (run / "status.json").write_text(json.dumps(status))
  _, out, _ = command("--dry_run")
  assert "stale: source changed" in out
  _, out, _ = command()
  assert "runs again, stale: source changed" in out and "done in" in out


def test_equal_bytes_from_equal_configs(command, folder):
  command("--output_dir=a")
  command("--output_dir=b")
  for name in ("summary.json", "summary.csv", "experiment.json"):
    ours, theirs = (folder / top / "x" / name for top in "ab")
    assert ours.read_bytes() == theirs.read_bytes()


def test_sweep_adds_cells_and_keeps_those_there_are(command, folder):
  command()
  status, out, _ = command("--sweep=workload.rate=10,20")
  assert status == 0 and "done before" in out
  assert sorted(row["workload.rate"] for row in rows(folder)) == [10.0, 20.0]


def test_dry_run_and_print_config_write_nothing(command, folder):
  sweep = "--sweep=strategy.kind=continuous,chunked"
  status, out, _ = command(
      "--dry_run", sweep, "--sweep=strategy.chunk_size=64,128"
  )
  assert status == 0
  assert "3 cells (1 merged with an equal one)" in out
  status, out, _ = command("--print_config", sweep)
  cells = json.loads(out)["x"]
  assert [cell["config"]["strategy"]["chunk_size"] for cell in cells] == [
      None, 512,
  ]
  assert files(folder) == {"x.py"}


def test_a_run_is_repeated_from_its_folder(command, folder, capsys):
  command()
  (run,) = (folder / "results/x/runs").iterdir()
  told = json.loads((run / "provenance.json").read_text())
  assert told["command"] == sys.orig_argv
  assert told["started"] <= json.loads((run / "status.json").read_text())[
      "finished"
  ]
  *python, config, new = shlex.split(told["repeat"])
  assert python == ["python", "-m", "pdjax.cli.cell"]
  assert cell.main([config, new]) == 0
  for name in ("summary.json", "events.parquet", "conditions.json"):
    assert (folder / new / name).read_bytes() == (run / name).read_bytes()
  capsys.readouterr()
  assert cell.main([config, new]) == 2
  assert capsys.readouterr().err == f"{new}: not empty; name a new folder\n"
  assert cell.main(["nowhere.json", "other"]) == 2
  assert "nowhere.json: not a run's config.json" in capsys.readouterr().err
  assert cell.main([]) == 2 and not (folder / "other").exists()


def test_a_failing_cell_is_told_and_the_others_go_on(command, folder):
  (folder / "mine.py").write_text(
      "class Rule:\n  def batch(self, worker, world):\n"
      "    raise RuntimeError('no idea')\n    yield\n"
  )
  status, out, _ = command("--sweep=strategy.kind=continuous,mine:Rule")
  assert status == 1
  assert "FAILED: PolicyFault: mine.py:3: RuntimeError: no idea" in out
  assert out.index("failed:") < out.index("results:")
  assert [row["label"] for row in rows(folder)] == ["kind=continuous"]
  (failed,) = (folder / "results/x/failed").iterdir()
  status = json.loads((failed / "status.json").read_text())
  assert "no idea" in status["message"]


MEASURED = (
    "--config.backend.kind=jax", "--config.cluster.chip=none",
    "--config.model.preset=tiny", "--config.cluster.host_devices=2",
)
DISAGGREGATED = (
    "--config.strategy.kind=disaggregated", "--config.cluster.split=1P1D",
)
BAD = [
    (["--config.strategy.chunk=3"],
     ["strategy.chunk: no such field; did you mean 'chunk_size'?"]),
    (["--config.workload.rate=fast"],
     ["workload.rate: expected a number or none, got 'fast'"]),
    (["--config.strategy.kind=chunked", "--config.strategy.chunk_size=0"],
     ["strategy.chunk_size: must be from 1 to 1000000000, got 0"]),
    (["--config.strategy.chunk_size=64"],
     ["strategy.chunk_size: does not apply: only chunked prefill cuts"
      " prompts"]),
    (["--config.strategy.kind=no_such:Rule"],
     ["strategy.kind: 'no_such:Rule': ModuleNotFoundError: No module named"
      " 'no_such'"]),
    (["--config.cluster.chip=h100"], ["cluster.chip: unknown chip 'h100';"]),
    (["--config.cluster.chip=none"], ["cluster.chip: the simulated backend"]),
    (["--config.model.preset=llama-3-8"], ["model.preset: unknown model"]),
    (["--config.cluster.tp=7"], ["cluster.tp: tp 7 does"]),
    (["--config.cluster.split=2P2D"], ["cluster.split: continuous runs on"]),
    (["--config.cluster.kv_tokens=64"], ["cluster.kv_tokens: no request fits"]),
    (["--config.backend.padding=engine", "--config.engine.max_programs=1"],
     ["engine.max_programs: must be at least 2 for the steps of this run"]),
    (["--config.engine.max_programs=9"],
     ["engine.max_programs: does not apply: only our own engine, or"]),
    (["--config.slo.terms=(('ttfd','value','request',1),)"],
     ["slo.terms[0]: no request metric 'ttfd'; allowed"]),
    (["--sweep=workload.seed=0,1.5,-1"],
     ["workload.seed: expected an integer, got 1.5",
      "workload.seed=-1: must be from 0"]),
    (["--output_dir=x.py/y"], ["--output_dir=x.py/y: "]),
    (["--output_dir=/proc/zz"], ["/proc/zz: nothing can be made in /proc: "]),
    ([f"--output_dir=a/{300 * 'b'}"], ["b: nothing can be made in "]),
    ([f"--config.name={100 * chr(0x1f600)}"],
     ["results go there, but nothing can be made in "]),
    (["--config.backend.kind=jax", "--config.cluster.chip=none",
      "--config.model.preset=tiny", "--config.cluster.host_devices=1"],
     ["cluster.split: needs 2 devices, there are 1 (cpu);"]),
    (["--config.workload.stop=eos"],
     ["workload.stop: 'eos' needs real weights, and the simulator computes"]),
    ([*MEASURED, "--config.workload.stop=eos"],
     ["workload.stop: 'eos' needs real weights (model.weights), and random"]),
    (["--config.workload.prompt.mean=9000"],
     ["workload: 10 of 10 requests are longer than the 8192 positions"]),
    ([*MEASURED, "--config.workload.prompt.mean=600"],
     ["workload: 10 of 10 requests are longer than the 512 positions"]),
    (["--config.cluster.kv_tokens=15"],
     ["cluster.kv_tokens: 15 is less than one page of 16 tokens"]),
    (["--config.cluster.kv_tokens=99999999999"],
     ["cluster.kv_tokens: must be from 1 to 1000000000, got 99999999999"]),
    (["--config.cluster.split=100000C"],
     ["cluster.split: 100000 workers; at most 1024 are possible"]),
    ([*MEASURED[:-1], "--config.cluster.host_devices=100000"],
     ["cluster.host_devices: must be from 1 to 256, got 100000"]),
    ([*DISAGGREGATED, "--config.cluster.link.bandwidth_bytes_per_s=1",
      "--config.cluster.link.latency_s=1e9"],
     ["cluster.link.bandwidth_bytes_per_s: must be from 1e+06 to 1e+15, got",
      "cluster.link.latency_s: must be from 0 to 10, got 1000000000.0"]),
    (["--config.slo.ttft_s=1e300"],
     ["slo.ttft_s: must be above 0 and at most 1000000000, got 1e+300"]),
    ([*MEASURED, "--config.model.weights=x.py"],
     ["model.weights: 'x.py' is no GGUF file"]),
    (["--config.workload.path=x.py"],
     ["workload.path: does not apply: a synthetic workload has no trace"]),
    (["--dryrun", "--config.modl.x=1", "--config.cluster.page_tokens=9",
      "--sweep=workload.seed=a"],
     ["--dryrun: no such flag; did you mean '--dry_run'?",
      "modl: no such field", "workload.seed: expected an integer, got 'a'",
      "cluster.page_tokens: must be one of"]),
]


@pytest.mark.parametrize(("arguments", "lines"), BAD)
def test_bad_input_is_told_at_once_and_leaves_nothing(
    command, folder, arguments, lines
):
  status, _, errors = command(*arguments)
  assert status == 2
  for line, start in zip(errors, lines, strict=True):
    assert start in line
  assert files(folder) == {"x.py"}


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("__import__('sys').exit(3)", "SystemExit: 3"),
        ("__import__('os')._exit(0)", "SystemExit: os._exit(0) would have"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise BaseException('a\\nb')", "BaseException: a b"),
        ("raise E", "E: no message"),
        ("__import__('no_such')", "ModuleNotFoundError: No module named"),
    ],
)
def test_a_policy_that_cannot_be_made_is_one_line(
    command, folder, monkeypatch, body, line
):
  (folder / "raises.py").write_text(
      "class E(BaseException):\n  def __str__(self): return 1 / 0\n\n\n"
      f"class Rule:\n  def __init__(self):\n    {body}\n"
  )
  monkeypatch.syspath_prepend(folder)
  monkeypatch.delitem(sys.modules, "raises", raising=False)
  status, _, errors = command("--config.strategy.kind=raises:Rule")
  (told,) = errors
  assert status == 2
  assert told.startswith(f"strategy.options of 'raises:Rule': {line}")


def test_a_model_beyond_the_hosts_memory_is_one_line(command, monkeypatch):
  monkeypatch.setattr(hostmemory, "total_bytes", lambda: 10**6)
  status, _, errors = command(*MEASURED)
  (line,) = errors
  assert status == 2 and line.startswith("model.preset: tiny needs 0.0")
  assert line.endswith("and the host has 0.001 GB")


def test_only_some_cells_run(command, folder):
  sweep = "--sweep=workload.rate=10,20"
  status, out, _ = command(sweep, "--only=workload.rate=20")
  assert status == 0 and out.count("done in") == 1
  assert [row["workload.rate"] for row in rows(folder)] == [20.0]
  status, _, errors = command(sweep, "--only=workload.rate=30")
  assert (status, errors) == (2, [
      "--only=workload.rate=30: no cell has it; there are 10.0, 20.0"
  ])


TRACE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (None, "no such file"),
        ("", "the trace is empty"),
        (TRACE, "a header but no row"),
        (TRACE + "2023-11-16 18:15:46.680,-3,5\n", "trace.csv:2: "),
        (TRACE + "2023-11-16 18:15:46.680,3,0\n", "trace.csv:2: "),
    ],
)
def test_bad_trace_is_one_line_and_leaves_nothing(command, folder, text, part):
  if text is not None:
    (folder / "trace.csv").write_text(text)
  before = files(folder)
  status, _, errors = command(
      "--config.workload.kind=azure", "--config.workload.path=trace.csv",
      "--config.workload.rate=none", "--config.workload.prompt=none",
      "--config.workload.output=none",
  )
  assert status == 2
  (line,) = errors
  assert part in line
  assert files(folder) == before


def test_missing_config_is_one_line(command):
  assert command(config=None)[0] == 2
  status, _, errors = command(config="y")
  assert status == 2 and errors == [
      "--config=y: no such file; see --list_configs"
  ]


def test_help_and_listing(command):
  status, out, _ = command("--help", config=None)
  assert status == 0 and "--sweep='FIELD=VALUES'" in out
  status, out, _ = command("--list_configs", config=None)
  assert status == 0


BLOCKS = '''"""Two blocks."""
import json


def read(folder, say):
  rows = json.loads((folder / "summary.json").read_text())
  say(f"{folder.name} has {len(rows)} rows")
  return folder / "look.txt"


def get_config():
  run = {
      "cluster": {"chip": "h100-sxm"},
      "workload": {"rate": 20.0, "num_requests": 3, "output": {"mean": 2.0}},
  }
  return {"blocks": {
      "run": {**run, "sweep": {"seeds": (1, 2)}},
      "look": {"reads": "run", "then": "blocks:read"},
  }}
'''


def test_blocks_run_in_order_and_read_each_other(command, folder, monkeypatch):
  (folder / "blocks.py").write_text(BLOCKS)
  monkeypatch.syspath_prepend(folder)
  status, out, _ = command(
      "--config.run.workload.num_requests=2", config="blocks"
  )
  assert status == 0
  assert out.index("[1/2] run: 2 cells") < out.index("[2/2] look: reads run")
  assert "run has 2 rows" in out
  assert out.endswith("results/blocks/run/look.txt\n")
  assert (folder / "results/blocks/run/summary.json").exists()
