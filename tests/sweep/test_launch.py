"""Cells run here or in processes; one that fails does not end the others."""

import dataclasses
import os
import signal
import sys
import tempfile
import time

import pytest

from pdjax import schema
from pdjax.sweep import launch, runfiles

MINE = "tests.sweep.test_launch:"


def by_seed(run, folder, progress):
  progress(f"seed {run.workload.seed}")
  print("printed", "apart", end="")
  if run.workload.seed == 1:
    raise ValueError("it\nbroke")
  (folder / "done").write_text(str(os.getpid()))


def leaves(run, folder, progress):
  """Ends in many ways, none of which is the program's end."""
  match run.workload.seed:
    case 0:
      sys.exit("no more")
    case 1:
      raise KeyboardInterrupt
    case 2:
      os._exit(0)
    case 3:
      os.kill(os.getpid(), signal.SIGKILL)
    case 4 if not (folder.parent / "died").exists():
      (folder.parent / "died").write_text("once")
      (folder / "half").write_text("a half")
      os.kill(os.getpid(), signal.SIGKILL)
  assert not (folder / "half").exists()
  (folder / "done").write_text(str(os.getpid()))


def tells_devices(run, folder, progress):
  progress(os.environ["XLA_FLAGS"])
  progress(os.environ["JAX_PLATFORMS"])
  (folder / "done").write_text(str(os.getpid()))


def sleeps(run, folder, progress):
  progress("sleeping")
  time.sleep(600)


def cells_of(cell, trees):
  return [
      dataclasses.replace(cell, run=schema.run_from_tree(tree), case=str(n))
      for n, tree in enumerate(trees)
  ]


def seeds(cell, *numbers):
  return cells_of(cell, [{"workload": {"seed": seed}} for seed in numbers])


@pytest.fixture
def launched(tmp_path):
  """Runs cells; outcomes in the cells' order, and what was told."""

  def run(cells, function):
    told = []
    outcomes = list(
        launch.launch(
            cells, begin(tmp_path), MINE + function,
            lambda cell, text: told.append((cell.case, text)),
        )
    )
    order = {cell.case: place for place, cell in enumerate(cells)}
    return sorted(outcomes, key=lambda o: order[o.cell.case]), told

  return run


def begin(tmp_path):
  def make(cell):
    folder = tmp_path / cell.case
    folder.mkdir()
    return folder

  return make


def test_a_failing_cell_does_not_end_the_others(launched, tmp_path, cell):
  outcomes, told = launched(seeds(cell, 0, 1, 2), "by_seed")
  assert [outcome.message for outcome in outcomes] == [
      "", "ValueError: it broke", "",
  ]
  assert outcomes[1].lasting
  log = (tmp_path / "1" / runfiles.LOG).read_text()
  assert log.startswith("Traceback") and log.endswith("ValueError: it\nbroke\n")
  assert sorted(text for _, text in told) == [
      *["printed apart"] * 2, *(f"seed {seed}" for seed in range(3)),
  ]
  assert (tmp_path / "0" / "done").read_text() != str(os.getpid())


def test_no_way_of_ending_a_process_ends_the_others(launched, tmp_path, cell):
  outcomes, told = launched(seeds(cell, *range(7)), "leaves")
  assert [outcome.message for outcome in outcomes] == [
      "SystemExit: no more",
      "KeyboardInterrupt",
      "its process ended with status 0 in the run",
      "its process was killed by SIGKILL, 2 times (out of memory?)",
      "", "", "",
  ]
  assert [outcome.lasting for outcome in outcomes[:4]] == [
      True, False, False, False,
  ]
  killed = "its process was killed by SIGKILL; once more"
  assert sorted(told) == [("3", killed), ("4", killed)]


def test_one_simulated_cell_runs_in_this_process(launched, tmp_path, cell):
  launched(seeds(cell, 5), "leaves")
  assert (tmp_path / "0" / "done").read_text() == str(os.getpid())


def test_one_that_fails_here_fails_as_elsewhere(launched, tmp_path, cell):
  (outcome,), _ = launched(seeds(cell, 0), "leaves")
  assert (outcome.message, outcome.lasting) == ("SystemExit: no more", True)
  assert "SystemExit" in (tmp_path / "0" / runfiles.LOG).read_text()


def test_a_users_policy_never_runs_in_this_process(launched, tmp_path, cell):
  trees = [{"workload": {"seed": 2}, "strategy": {"kind": "my:policy"}}]
  (outcome,), _ = launched(cells_of(cell, trees), "leaves")
  assert outcome.message == "its process ended with status 0 in the run"


def test_a_cell_that_need_not_run_is_passed_over(tmp_path, cell):
  cells = seeds(cell, 5, 6, 7)
  make = begin(tmp_path)
  outcomes = launch.launch(
      cells, lambda cell: make(cell) if cell.case != "1" else None,
      MINE + "leaves", lambda *_: None,
  )
  assert sorted(outcome.cell.case for outcome in outcomes) == ["0", "2"]


def test_a_cell_without_a_place_fails_alone(tmp_path, cell):
  make = begin(tmp_path)
  (tmp_path / "1").write_text("in the way")
  outcomes = launch.launch(
      seeds(cell, 5, 6), make, MINE + "leaves", lambda *_: None
  )
  by_case = {outcome.cell.case: outcome for outcome in outcomes}
  assert by_case["0"].message == "" and by_case["1"].folder is None
  assert by_case["1"].message.startswith("FileExistsError: ")


MEASURED = {"backend": {"kind": "jax"}, "cluster": {"host_devices": 3}}


def test_a_measured_cell_gets_its_devices_and_a_process_of_its_own(
    launched, tmp_path, cell, monkeypatch
):
  monkeypatch.setenv("XLA_FLAGS", "--xla_foo=1")
  # Another command that measures just now is said to be waited for.
  monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
  outcomes, told = launched(cells_of(cell, [MEASURED] * 2), "tells_devices")
  assert [outcome.message for outcome in outcomes] == ["", ""]
  assert [text for _, text in told] == 2 * [
      "--xla_foo=1 --xla_force_host_platform_device_count=3", "cpu",
  ]
  pids = {(tmp_path / name / "done").read_text() for name in "01"}
  assert len(pids) == 2


def test_a_measured_cell_that_exits_is_a_failure(launched, cell):
  (outcome,), _ = launched(
      cells_of(cell, [MEASURED | {"workload": {"seed": 2}}]), "leaves"
  )
  assert outcome.message == "its process ended with status 0 in the run"


def test_who_stops_listening_leaves_no_process(tmp_path, cell):
  running, others = [], children()
  outcomes = launch.launch(
      seeds(cell, 0, 1), begin(tmp_path), MINE + "sleeps",
      lambda *_: _interrupt(running, others),
  )
  with pytest.raises(KeyboardInterrupt):
    list(outcomes)
  for pid in running:
    with pytest.raises(ProcessLookupError):
      os.kill(pid, 0)


def children():
  with open(f"/proc/{os.getpid()}/task/{os.getpid()}/children") as file:
    return {*map(int, file.read().split())}


def _interrupt(running, others):
  running.extend(children() - others)
  assert running
  raise KeyboardInterrupt
