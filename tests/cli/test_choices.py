"""A command may run some cells, all of them again, or stop early."""

import re
import shlex
import subprocess
import sys

import pytest

from pdjax.cli.experiment import main

SIZES = "--sweep=strategy.max_num_seqs=1,2,4"
MINE = """
from pdjax.schedule.batching import Continuous


class Rule(Continuous):

  def __init__(self, fails=False):
    super().__init__()
    assert not fails or open("count", "a").write("x")
    self.fails = fails

  def batch(self, worker, world):
    if self.fails:
      open("count", "a").write("x")
      raise ValueError("no idea")
    yield from super().batch(worker, world)
"""


@pytest.fixture
def files(folder):
  """The bytes of an experiment's files that carry no date, by name."""

  def read(top="results"):
    found = {
        path.relative_to(folder / top).as_posix(): path.read_bytes()
        for path in (folder / top).rglob("*")
        if path.is_file()
    }
    dated = ("provenance.json", "status.json", "made_from.json")
    return {name: data for name, data in found.items()
            if not name.endswith(dated)}

  return read


def test_shares_make_what_one_command_makes(command, files):
  command(SIZES, "--output_dir=whole")
  _, out, _ = command(SIZES, "--shard=1/2")
  assert "2 of 3 cells" in out and out.count("done in") == 2
  _, out, _ = command(SIZES, "--shard=2/2")
  assert out.count("done in") == 1 and "done before" not in out
  assert files() == files("whole")


def test_shares_at_once_make_what_one_command_makes(command, files):
  command(SIZES, "--output_dir=whole")
  processes = [
      subprocess.Popen(
          [sys.executable, "-m", "pdjax.experiment", "--config=x", SIZES,
           f"--shard={index}/2"], stdout=subprocess.DEVNULL,
      )
      for index in (1, 2)
  ]
  assert [process.wait() for process in processes] == [0, 0]
  assert files() == files("whole")


def test_each_printed_command_runs_its_cell(command, files, capsys):
  command(SIZES, "--output_dir=whole")
  _, out, _ = command(SIZES, "--print_commands", "--shard", "1/1")
  lines = out.splitlines()
  assert len(lines) == 3
  for number, line in enumerate(lines, start=1):
    python, flag, module, *arguments = shlex.split(line)
    assert (python, flag, module) == ("python", "-m", "pdjax.experiment")
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "1 of 3 cells" in out and out.count("done in") == 1
    _, out, _ = command(SIZES, "--print_commands")
    assert out.splitlines() == lines[number:]
  assert files() == files("whole")


def test_done_cells_have_a_command_if_all_are_to_run_again(command, capsys):
  command()
  assert command("--print_commands")[1] == ""
  _, out, _ = command("--print_commands", "--rerun")
  (line,) = out.splitlines()
  assert main(shlex.split(line)[3:]) == 0
  assert capsys.readouterr().out.count("done in") == 1


def test_a_cell_that_is_not_there_is_a_mistake(command, folder):
  status, _, errors = command("--cell=abc")
  assert status == 2
  assert errors == ["--cell=abc: no cell has this id; --dry_run shows them"]
  assert not (folder / "results").exists()


def test_a_cell_of_another_share_is_a_mistake(command, folder):
  sweep = "--sweep=workload.seed=1,2"
  _, out, _ = command(sweep, "--dry_run", "--shard=1/2")
  (cell,) = re.findall(r"\b[0-9a-f]{12}\b", out)
  status, out, _ = command(sweep, f"--cell={cell[:8]}", "--shard=1/2")
  assert status == 0 and "1 of 2 cells" in out
  status, out, errors = command(sweep, f"--cell={cell}", "--shard=2/2")
  assert status == 2 and "results" not in out
  assert errors == [
      "--cell: none of these cells is in --shard=2/2; say one of the two"
  ]


def test_tables_show_what_other_commands_have_finished(command):
  sweep = "--sweep=workload.seed=1,2"
  command(sweep, "--shard=1/2")
  _, out, _ = command(sweep, "--shard=2/2")
  table = out[out.index("1 of 2 cells"):].partition("\n\n")[2]
  assert "means over 2 seeds (1 to 2)" in " ".join(table.split())


THEN = '''"""Blocks."""
import x


def then(folder, say):
  say(f"all of {folder.name}")


def get_config():
  run = {**x.get_config().to_dict(), "sweep": {"seeds": (1, 2)}}
  return {"blocks": {
      "run": {**run, "then": "b:then"},
      "look": {"reads": "run", "then": "b:then"},
  }}
'''


def test_readers_wait_for_the_last_share(command, folder, monkeypatch):
  monkeypatch.syspath_prepend(folder)
  for name in ("b", "x"):
    monkeypatch.delitem(sys.modules, name, raising=False)
  (folder / "b.py").write_text(THEN)
  _, out, _ = command("--shard=1/2", config="b")
  assert out.count("b:then waits for 1 more") == 2 and "all of" not in out
  _, out, _ = command("--shard=2/2", config="b")
  assert out.count("all of run") == 2


def test_done_cells_run_again_if_asked(command, files, folder):
  command(SIZES)
  before = files()
  (run, *_) = (folder / "results/x/runs").iterdir()
  inode = run.stat().st_ino
  _, out, _ = command(SIZES, "--rerun")
  assert out.count("done in") == 3 and run.stat().st_ino != inode
  assert files() == before


@pytest.fixture
def failing(command, folder, monkeypatch):
  """Runs a cell that fails, and others."""
  (folder / "mine.py").write_text(MINE)

  def run(*arguments, status=1):
    *told, errors = command(
        "--config.strategy.kind=mine:Rule",
        "--sweep=strategy.options.fails=true,false", *arguments,
    )
    assert (told[0], errors) == (status, [])
    return told[1]

  return run


def tries(folder):
  text = (folder / "count").read_text() if (folder / "count").exists() else ""
  return len(text)


def test_a_failure_that_would_come_again_is_not_tried_again(failing, folder):
  out = failing()
  assert "FAILED: PolicyFault: mine.py" in out and "done in" in out
  once = tries(folder)
  out = failing()
  assert "failed before: PolicyFault: mine.py" in out
  assert "--retry_failed runs it again" in out and "done before" in out
  assert "(see results/x/failed/" in out[out.index("\nfailed:"):]
  assert "failed before" in _dry(failing, folder)
  between = tries(folder)
  assert "FAILED: PolicyFault" in failing("--retry_failed")
  assert tries(folder) - between >= once > between - once
  (folder / "mine.py").write_text(MINE + "\n")
  assert "FAILED: PolicyFault" in failing()


def test_a_printed_command_runs_a_cell_that_failed_before(failing, folder):
  failing()
  lines = failing("--print_commands", status=0).splitlines()
  (line,) = lines
  before = tries(folder)
  assert main(shlex.split(line)[3:]) == 1 and tries(folder) > before


def _dry(failing, folder):
  done = subprocess.run(
      [sys.executable, "-m", "pdjax.experiment", "--config=x", "--dry_run",
       "--config.strategy.kind=mine:Rule",
       "--sweep=strategy.options.fails=true,false"],
      capture_output=True, text=True, check=True,
  )
  return done.stdout


def test_a_failure_ends_the_command_if_asked(failing, folder):
  out = failing(SIZES, "--fail_fast", "--order=given")
  assert "stopped at the first failure" in out
  assert len(out[out.index("\nfailed:"):out.index("\nresults:")].split("\n")) \
      == 4
  left = [path for path in (folder / "results/x/runs").iterdir()]
  assert len(left) < 4
