"""A sweep comes out the same whoever runs it: shares, Ray, Slurm's jobs."""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

SIZES = "--sweep=strategy.max_num_seqs=1,2,4"
DATED = ("prov", "stat", "made", "report.html")
MINE = "--config.strategy.kind=mine:Rule"
# A busy machine starts Ray's processes slowly, and Ray waits half a minute for
# one to tell its port, unless that is given.
PATIENT = {
    "RAY_raylet_start_wait_time_s": "300",
    "RAY_gcs_server_port_wait_time_s": "300",
    "RAY_agent_register_timeout_ms": "300000",
}
PORTS = (
    "metrics-export", "dashboard-agent-grpc", "dashboard-agent-listen",
    "runtime-env-agent",
)
# Its processes are asked for runs by a worker of the cluster.
POLICY = """
import os
import signal
from pathlib import Path

from pdjax.schedule.batching import Continuous


class Rule(Continuous):

  def batch(self, worker, world):
    try:
      os.close(os.open("killed", os.O_CREAT | os.O_EXCL))
      os.kill(os.getppid(), signal.SIGKILL)
    except FileExistsError:
      pass
    yield from super().batch(worker, world)
"""


def needs(package):
  return pytest.mark.skipif(
      importlib.util.find_spec(package) is None,
      reason=f"needs the package {package}",
  )


def run(*arguments, **env):
  return subprocess.Popen(
      [sys.executable, "-m", "pdjax.experiment", "--config=x", *arguments],
      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
      env={**os.environ, **env},
  )


def out_of(process, status=0):
  out, errors = process.communicate()
  assert (process.returncode, errors) == (status, ""), out
  return out


def files(top):
  """The bytes of what carries no date, by name."""
  return {
      path.relative_to(top).as_posix(): path.read_bytes()
      for path in Path(top).rglob("*")
      if path.is_file() and not path.name.startswith(DATED)
  }


def free_ports(count):
  sockets = [socket.socket() for _ in range(count)]
  for one in sockets:
    one.bind(("127.0.0.1", 0))
  ports = [one.getsockname()[1] for one in sockets]
  for one in sockets:
    one.close()
  return ports


@pytest.fixture(scope="module")
def cluster():
  """The address of a Ray cluster of two cores, in processes of its own."""
  pytest.importorskip("ray")
  port, *others = free_ports(1 + len(PORTS))
  # Sockets lie in it, whose names must be short.
  place = tempfile.mkdtemp(prefix="ray", dir="/tmp")
  log = Path(place) / "start.log"
  started = subprocess.Popen(
      [Path(sys.executable).with_name("ray"), "start", "--head", "--block",
       f"--port={port}", "--num-cpus=2", "--include-dashboard=false",
       "--object-store-memory=80000000", f"--temp-dir={place}",
       "--disable-usage-stats",
       *(f"--{n}-port={p}" for n, p in zip(PORTS, others, strict=True))],
      stdout=log.open("w"), stderr=subprocess.STDOUT,
      env={**os.environ, **PATIENT},
  )
  try:
    while "Ray runtime started" not in log.read_text():
      if started.poll() is not None:
        pytest.skip(f"no Ray cluster can be started: {log.read_text()[-500:]}")
      time.sleep(0.2)
    yield f"127.0.0.1:{port}"
  finally:
    started.terminate()
    started.wait()
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def whole(folder):
  """The sweep's files as one command on this machine makes them."""
  out_of(run(SIZES, "--output_dir=whole"))
  return files("whole")


def test_two_shells_make_what_one_makes(whole):
  shells = [run(SIZES, f"--shard={index}/2") for index in (1, 2)]
  assert all(map(out_of, shells))
  assert files("results") == whole


@needs("ray")
def test_a_ray_cluster_makes_what_one_machine_makes(cluster, whole):
  out = out_of(run(SIZES, "--launcher=ray", RAY_ADDRESS=cluster))
  assert out.count("done in") == 3
  assert files("results") == whole
  # What is done is found without the cluster.
  out = out_of(run(SIZES, "--launcher=ray", RAY_ADDRESS="127.0.0.1:1"))
  assert out.count("done before") == 3


@needs("submitit")
def test_jobs_of_slurm_make_what_one_machine_makes(whole):
  out = out_of(run(SIZES, "--launcher=slurm_local"))
  assert out.count("done in") == 3
  assert files("results") == whole
  assert not Path("results/x/.slurm").exists()


@pytest.fixture
def killing(folder):
  """A policy that kills a worker of the cluster, in the middle, once."""
  (folder / "mine.py").write_text(POLICY)
  (folder / "killed").touch()
  out_of(run(SIZES, MINE, "--output_dir=whole", PYTHONPATH="."))
  (folder / "killed").unlink()
  return files("whole")


@needs("ray")
def test_a_ray_worker_that_is_killed_costs_its_cell_one_try(cluster, killing):
  process = run(
      SIZES, MINE, "--launcher=ray", PYTHONPATH=".", RAY_ADDRESS=cluster
  )
  out = out_of(process)
  assert out.count("its worker was lost (WorkerCrashedError); once more") == 1
  assert out.count("done in") == 3 and "FAILED" not in out
  assert files("results") == killing


@needs("submitit")
def test_a_job_of_slurm_that_is_killed_costs_its_cell_one_try(killing):
  out = out_of(run(SIZES, MINE, "--launcher=slurm_local", PYTHONPATH="."))
  assert out.count(" was lost (") == 1 and out.count("; once more") == 1
  assert out.count("done in") == 3 and "FAILED" not in out
  shutil.rmtree("results/x/.slurm")  # the lost job's log, which was named
  assert files("results") == killing


@needs("submitit")
def test_a_cell_that_fails_elsewhere_is_told_here(command, folder, monkeypatch):
  monkeypatch.setenv("PYTHONPATH", str(folder))
  monkeypatch.syspath_prepend(folder)
  (folder / "mine.py").write_text(
      "from pdjax.schedule.batching import Continuous\n\n\n"
      "class Rule(Continuous):\n\n"
      "  def batch(self, worker, world):\n    raise ValueError('no idea')\n"
  )
  status, out, errors = command(MINE, "--launcher=slurm_local")
  assert (status, errors) == (1, [])
  assert "FAILED: PolicyFault: mine.py:7: ValueError: no idea (see " in out
  _, out, _ = command(MINE, "--launcher=slurm_local")
  assert "failed before: PolicyFault" in out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--launcher=rey"], "--launcher=rey: expected local, ray, slurm,"
         " slurm_local; did you mean 'ray'?"),
        (["--launcher_options=num_cpus=2"],
         "--launcher_options: the cells run here, without a launcher"),
    ],
)
def test_a_mistake_is_one_line(command, folder, arguments, line):
  status, _, errors = command(*arguments)
  assert (status, errors) == (2, [line])
  assert not (folder / "results").exists()


def test_a_package_that_is_missing_is_named(command, monkeypatch):
  monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
  from pdjax.sweep import launchers

  assert launchers.mistakes("slurm", None) == [
      "--launcher=slurm: needs the package submitit: pip install"
      " 'pdjax[slurm]'"
  ]


@needs("ray")
@pytest.mark.parametrize(
    ("option", "line"),
    [
        ("num_cpu=2", "no option of ray; did you mean 'num_cpus'?"),
        ("num_cpus=x", "expected a number, got 'x'"),
        ("num_cpus", "expected NAME=VALUE"),
    ],
)
def test_options_are_checked_before_anything_runs(option, line):
  from pdjax.sweep import launchers

  assert launchers.mistakes("ray", option) == [
      f"--launcher_options={option}: {line}"
  ]


@needs("ray")
def test_a_cluster_that_is_not_there_is_one_line(command, folder):
  options = "--launcher_options=address=127.0.0.1:1"
  status, _, errors = command("--launcher=ray", options)
  assert status == 2 and len(errors) == 1
  assert errors[0].startswith("--launcher=ray: no cluster at 127.0.0.1:1: ")
  assert not (folder / "results").exists()


@needs("submitit")
def test_a_machine_without_slurm_is_one_line(command, folder, monkeypatch):
  monkeypatch.setenv("PATH", "")
  status, _, errors = command("--launcher=slurm")
  assert status == 2 and len(errors) == 1
  assert errors[0].startswith("--launcher=slurm: ")
  assert not (folder / "results").exists()
