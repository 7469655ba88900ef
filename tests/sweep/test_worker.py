"""A process that does runs speaks only of them, and ends with its asker."""

import json
import os
import signal
import subprocess
import sys
import time

from pdjax import schema
from pdjax.sweep import runfiles

ASK = [sys.executable, "-m", "pdjax.sweep.worker", "tests.sweep.test_worker:"]


def noisy(run, folder, progress):
  """Prints by every road, and reads what is not meant for it."""
  print("one\ntwo")
  os.write(1, b"by number\n")
  subprocess.run(["echo", "by a child"], check=True)
  assert sys.stdin.read() == "" and os.read(0, 1) == b""
  print("to the log", file=sys.stderr)
  progress("three \ud83d\ude00 \u00e9")


def endless(run, folder, progress):
  progress(str(os.getpid()))
  while True:
    pass


def asked(function, tmp_path):
  process = subprocess.Popen(
      [*ASK[:-1], ASK[-1] + function], stdin=subprocess.PIPE,
      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
  )
  job = {
      "config": schema.tree_of(schema.run_from_tree({})),
      "folder": str(tmp_path), "path": sys.path,
  }
  process.stdin.write(json.dumps(job).encode() + b"\n")
  process.stdin.flush()
  return process


def test_what_a_run_prints_is_progress_and_the_rest_is_logged(tmp_path):
  process = asked("noisy", tmp_path)
  answers = [json.loads(process.stdout.readline()) for _ in range(4)]
  assert answers == [
      {"said": "one"}, {"said": "two"}, {"said": "three 😀 é"}, {"ended": ""},
  ]
  assert process.communicate() == (b"", None) and process.returncode == 0
  log = (tmp_path / runfiles.LOG).read_text().splitlines()
  assert log == ["by number", "by a child", "to the log"]


def test_it_ends_when_its_asker_is_gone(tmp_path):
  process = asked("endless", tmp_path)
  assert int(json.loads(process.stdout.readline())["said"]) == process.pid
  process.stdin.close()
  assert process.wait(60) == -signal.SIGKILL


def test_an_interrupt_is_left_to_the_asker(tmp_path):
  process = asked("endless", tmp_path)
  process.stdout.readline()
  process.send_signal(signal.SIGINT)
  time.sleep(0.2)
  assert process.poll() is None
  process.stdin.close()
  process.wait(60)
