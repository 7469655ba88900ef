"""What happens to an experiment when something breaks beside or under it."""

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pdjax.sweep import jsonfile

POLICIES = """
import os, signal, sys, time
from pdjax.schedule.batching import Continuous


class Rule(Continuous):

  def __init__(self, act=""):
    super().__init__()
    self._act = act

  def batch(self, worker, world):
    act, self._act = self._act, ""
    if act == "exit":
      sys.exit(0)
    if act == "kill":
      os.kill(os.getpid(), signal.SIGKILL)
    if act == "leave":
      os._exit(0)
    if act == "raise":
      print("noise", file=sys.stderr)
      raise ValueError("no idea")
    if act == "sleep":
      print("sleeps", os.getpid())
      time.sleep(600)
    yield from super().batch(worker, world)
"""
MINE = "--config.strategy.kind=mine:Rule"
RATES = "--sweep=workload.rate=10,20"


@pytest.fixture(autouse=True)
def mine(folder, monkeypatch):
  (folder / "mine.py").write_text(POLICIES)
  monkeypatch.syspath_prepend(folder)
  monkeypatch.delitem(sys.modules, "mine", raising=False)


def acts(*names):
  return f"--sweep=strategy.options.act={','.join(names)}"


def say_also(folder, section):
  text = (folder / "x.py").read_text()
  (folder / "x.py").write_text(text.replace('"model":', f'{section}, "model":'))


def rows(folder):
  return json.loads((folder / "results/x/summary.json").read_text())


def runs(folder):
  return sorted((folder / "results/x/runs").iterdir())


def failures(out):
  """Lines of the list at the end, without the name of the experiment."""
  told = out[out.index("\nfailed:"):out.index("\nresults:")]
  return [line[4:].strip() for line in told.splitlines() if ": " in line]


def test_a_policy_may_end_its_process_and_no_more(command, folder):
  status, out, errors = command(
      MINE, acts("exit", "kill", "leave", "raise", "none")
  )
  assert (status, errors) == (1, [])
  told = sorted(line.partition(" (see ")[0] for line in failures(out))
  assert told == [
      "act=exit: SystemExit: 0",
      "act=kill: its process was killed by SIGKILL, 2 times (out of memory?)",
      "act=leave: its process ended with status 0 in the run",
      "act=raise: PolicyFault: mine.py:22: ValueError: no idea",
  ]
  assert [row["label"] for row in rows(folder)] == ["act=none"]
  assert "Traceback" not in out and len(runs(folder)) == 1


def test_the_message_is_the_error_and_the_log_is_named(command, folder):
  _, out, _ = command(MINE, acts("raise"))
  (line,) = failures(out)
  log = line.partition(" (see ")[2].removesuffix(")")
  text = (folder / log).read_text()
  assert text.startswith("noise\nTraceback")
  assert text.endswith("ValueError: no idea\n")


def test_a_reader_of_results_that_exits_is_a_failure(command, folder):
  (folder / "mine.py").write_text("import sys\n\n\ndef then(*_): sys.exit(0)\n")
  say_also(folder, '"then": "mine:then"')
  status, out, _ = command()
  assert status == 1 and failures(out) == ["then: SystemExit: 0"]
  assert len(rows(folder)) == 1


def test_nobody_ends_the_command_with_its_work_undone(folder):
  (folder / "x.py").write_text("import os\n\nos._exit(0)\n")
  told = subprocess.run(
      [sys.executable, "-m", "pdjax.experiment", "--config=x"],
      capture_output=True, text=True,
  )
  assert told.returncode == 2 and told.stderr == (
      "x.py:3: SystemExit: os._exit(0) would have ended the command\n"
  )


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="no /dev/full on this system"
)
def test_output_that_a_full_disk_does_not_take_is_missed(command, folder):
  """A reader that has left wanted no more; a full disk is something else."""
  asked = [sys.executable, "-m", "pdjax.experiment", "--config=x"]
  asked += ["--print_config"]
  with open("/dev/full", "w") as full:
    told = subprocess.run(asked, stdout=full, stderr=subprocess.PIPE, text=True)
  assert told.returncode == 1
  assert told.stderr.startswith("standard output: No space left on device")
  with subprocess.Popen(asked, stdout=subprocess.PIPE) as left:
    left.stdout.close()
  assert left.returncode == 0


def test_a_run_that_leaves_too_little_is_a_failure(
    command, folder, monkeypatch
):
  def run_cell(run, folder, progress):
    (folder / "config.json").write_text("{}")

  monkeypatch.setattr("pdjax.cli.cell.run_cell", run_cell)
  status, out, errors = command()
  assert (status, errors) == (1, [])
  (line,) = failures(out)
  assert "its run left no conditions.json, provenance.json, " in line
  assert runs(folder) == []


@pytest.mark.parametrize(
    "name",
    ["config.json", "conditions.json", "summary.json", "status.json",
     "provenance.json", "events.parquet", "requests.parquet"],
)
def test_a_damaged_run_is_run_again(command, folder, name):
  command()
  before = rows(folder)
  (run,) = runs(folder)
  path = run / name
  path.write_bytes(path.read_bytes()[:-20])
  status, out, errors = command()
  assert (status, errors) == (0, [])
  assert f"runs again, damaged: {name} " in out
  assert rows(folder) == before and runs(folder) == [run]
  _, out, _ = command()
  assert "done before" in out


def test_a_damaged_run_of_another_command_is_left_out(command, folder):
  command(RATES)
  (runs(folder)[0] / "summary.json").unlink()
  status, out, _ = command("--config.workload.rate=20")
  assert status == 0
  assert "! left out of the summary, damaged: results/x/runs/rate=10-" in out
  assert len(rows(folder)) == 1


def test_labels_with_dots_are_listed(command, folder, capsys):
  from pdjax.cli.replay import main

  say_also(folder, '"sweep": {"cases": ({"name": ".a"},)}')
  command()
  assert [row["label"] for row in rows(folder)] == [".a"]
  assert main(["results/x"]) == 0
  assert "commands identical" in capsys.readouterr().out


# Where results go. ----------------------------------------------------------


@pytest.mark.parametrize("path", ["results/x", "results/x/runs", "results"])
@pytest.mark.parametrize("kind", ["file", "loop"])
def test_what_is_in_the_way_is_one_line(command, folder, path, kind):
  (folder / path).parent.mkdir(parents=True, exist_ok=True)
  if kind == "file":
    (folder / path).write_text("mine")
  else:
    (folder / path).symlink_to(folder / path)
  status, _, errors = command(RATES)
  assert status == 2 and len(errors) == 1 and path in errors[0]
  assert kind == "loop" or (folder / path).read_text() == "mine"


def test_a_disk_that_fills_up_keeps_what_is_finished(
    command, folder, monkeypatch
):
  command("--config.workload.rate=10")
  before = rows(folder)

  def full(path, text):
    raise OSError(errno.ENOSPC, "No space left on device", str(path))

  with monkeypatch.context() as patch:
    patch.setattr(jsonfile, "write_text", full)
    status, out, errors = command(RATES)
  assert (status, errors) == (1, [])
  assert "not recorded: " in out and "Traceback" not in out
  assert any("No space left" in line for line in failures(out))
  assert rows(folder) == before and len(runs(folder)) == 1
  assert command(RATES)[0] == 0 and len(rows(folder)) == 2


# From the outside. ----------------------------------------------------------


@pytest.fixture
def start(folder):
  """Starts the command as a program; ends it if it is still there."""
  started = []

  def run(*arguments, **options):
    process = subprocess.Popen(
        [sys.executable, "-m", "pdjax.experiment", "--config=x", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        **{"encoding": "utf-8", "preexec_fn": _heeding, **options},
    )
    started.append(process)
    return process

  yield run
  for process in started:
    process.kill()
    process.communicate()


def _heeding():
  """A suite that runs in the background has interrupts ignored for all."""
  signal.signal(signal.SIGINT, signal.SIG_DFL)


def sleepers(process, count):
  """Processes of cells that sleep, as soon as there are so many."""
  pids = []
  while len(pids) < count:
    words = process.stdout.readline().split()
    if "sleeps" in words:
      pids.append(int(words[-1]))
  return pids


def gone(pid):
  """Whether a process ends within a minute."""
  for _ in range(600):
    try:
      os.kill(pid, 0)
      with open(f"/proc/{pid}/stat") as file:
        if file.read().rpartition(")")[2].split()[0] == "Z":
          return True  # and nobody has asked how
    except (ProcessLookupError, FileNotFoundError):
      return True
    time.sleep(0.1)
  return False


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)],
)
def test_all_processes_end_with_the_first(start, command, folder, number,
                                          status):
  process = start(MINE, acts("sleep"), RATES)
  asleep = sleepers(process, min(2, len(os.sched_getaffinity(0))))
  process.send_signal(number)
  _, errors = process.communicate()
  assert process.returncode == status
  assert all(map(gone, asleep))
  if number != signal.SIGKILL:
    assert errors == "interrupted; finished cells are kept\n"
    assert runs(folder) == []
  assert command(MINE, acts("none"))[0] == 0
  assert len(runs(folder)) == 1  # and nothing that was half done


def results_of(folder, top):
  """The bytes of what carries no date, by name."""
  return {
      path.relative_to(folder / top): path.read_bytes()
      for path in (folder / top).rglob("*")
      if path.is_file() and not path.name.startswith(("prov", "stat", "made"))
  }


def test_a_sweep_killed_again_and_again_comes_out_the_same(
    start, command, folder
):
  sizes = "--sweep=strategy.max_num_seqs=1,2,4"
  assert command(sizes, "--output_dir=whole")[0] == 0
  for _ in range(2):
    process = start(sizes)
    while "done in" not in (line := process.stdout.readline()) and line:
      pass
    process.kill()
    process.communicate()
  status, out, _ = command(sizes)
  assert status == 0 and "done before" in out
  assert results_of(folder, "results") == results_of(folder, "whole")


def test_an_output_nobody_reads_ends_no_work(start, folder):
  process = start(RATES)
  process.stdout.readline()
  process.stdout.close()
  assert process.wait() == 0 and process.stderr.read() == ""
  assert len(rows(folder)) == 2


def test_closed_outputs_end_no_work(folder):
  code = "import os, sys; os.close(1); os.close(2); os.execv(sys.argv[1], " \
      "sys.argv[1:])"
  command = [sys.executable, "-m", "pdjax.experiment", "--config=x", RATES]
  assert subprocess.run([sys.executable, "-c", code, *command]).returncode == 0
  assert len(rows(folder)) == 2


def test_an_ascii_output_is_no_obstacle(start, folder):
  say_also(folder, '"sweep": {"cases": {"é": {}}}')
  process = start(env={**os.environ, "PYTHONIOENCODING": "ascii"})
  out, errors = process.communicate()
  assert (process.returncode, errors) == (0, "")
  assert "\\xe9" in out and len(rows(folder)) == 1


def test_files_that_cannot_grow_are_told_in_one_line_each(start, folder):
  def limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

  process = start(RATES, preexec_fn=limit)
  out, errors = process.communicate()
  assert (process.returncode, errors) == (1, "")
  assert out.count("FAILED: OSError: [Errno 27] ") == 2
  assert "Traceback" not in out
  shutil.rmtree(folder / "results/x/failed")
  assert runs(folder) == []
