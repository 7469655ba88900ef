"""Cells run here or in processes; one that fails does not end the others."""

import dataclasses
import os
import sys

import pytest

from pdjax import schema
from pdjax.sweep import launch

SCRIPT = """
import os, pathlib, sys
config, folder = sys.argv[1:]
print("flags", os.environ["XLA_FLAGS"])
pathlib.Path(folder, "copy.json").write_text(pathlib.Path(config).read_text())
"""


def run_cell(run, folder, progress):
  progress(f"seed {run.workload.seed}")
  if run.workload.seed == 1:
    raise ValueError("it\nbroke")
  (folder / "done").write_text(str(os.getpid()))


def never(run, folder, progress):
  raise AssertionError("a measured cell must have a process of its own")


def jobs_of(cell, tmp_path, trees):
  jobs = []
  for number, tree in enumerate(trees):
    folder = tmp_path / str(number)
    folder.mkdir()
    one = dataclasses.replace(cell, run=schema.run_from_tree(tree))
    jobs.append(launch.Job(cell=one, folder=folder))
  return jobs


def launched(jobs, run_cell, script="pass"):
  told = []
  command = [sys.executable, "-c", script]
  outcomes = list(
      launch.launch(jobs, run_cell, command, lambda _, text: told.append(text))
  )
  return sorted(outcomes, key=lambda outcome: outcome.job.folder), told


def test_a_failing_cell_does_not_end_the_others(tmp_path, cell):
  trees = [{"workload": {"seed": seed}} for seed in range(3)]
  outcomes, told = launched(jobs_of(cell, tmp_path, trees), run_cell)
  assert [outcome.message for outcome in outcomes] == [
      "", "ValueError: it broke", "",
  ]
  assert "Traceback" in outcomes[1].log
  assert sorted(told) == ["seed 0", "seed 1", "seed 2"]
  assert (tmp_path / "0" / "done").exists()


def test_one_simulated_cell_runs_in_this_process(tmp_path, cell):
  launched(jobs_of(cell, tmp_path, [{}]), run_cell)
  assert (tmp_path / "0" / "done").read_text() == str(os.getpid())


MEASURED = {"backend": {"kind": "jax"}, "cluster": {"host_devices": 3}}


def test_a_measured_cell_gets_its_devices_and_config(
    tmp_path, cell, monkeypatch
):
  monkeypatch.setenv("XLA_FLAGS", "--xla_foo=1")
  jobs = jobs_of(cell, tmp_path, [MEASURED])
  (outcome,), told = launched(jobs, never, SCRIPT)
  assert outcome.message == ""
  assert told == [
      "flags --xla_foo=1 --xla_force_host_platform_device_count=3"
  ]
  tree = launch.jsonfile.read(tmp_path / "0" / "copy.json")
  assert schema.run_from_tree(tree) == jobs[0].cell.run


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("raise RuntimeError('no room')", "RuntimeError: no room"),
        ("import sys; sys.exit(3)", "its process ended with status 3"),
        ("import os; os.kill(os.getpid(), 9)", "was killed by SIGKILL"),
    ],
)
def test_a_measured_cell_that_fails_says_why(tmp_path, cell, script, message):
  jobs = jobs_of(cell, tmp_path, [MEASURED])
  (outcome,), _ = launched(jobs, never, script)
  assert message in outcome.message
