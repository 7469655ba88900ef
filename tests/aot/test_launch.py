"""Compiler processes that answer or die cost one program each."""

import importlib.util
import sys

import pytest

from pdjax.aot import launch
from pdjax.aot.verdict import verdict
from pdjax.workload.build import build
from tests.aot.jobs import TARGET, jobs_of, run_of

ANSWER = """
import json, sys
job = json.load(sys.stdin)
for shape in job["shapes"]:
  {before}
  line = dict(seconds=0.0)
  print("noise"); print(json.dumps(line), flush=True)
"""


def outcomes(monkeypatch, before: str):
  command = [sys.executable, "-c", ANSWER.format(before=before)]
  monkeypatch.setattr(launch, "COMMAND", command)
  (job,) = jobs_of(run_of())
  return job, list(launch.compiled(job, TARGET, 60.0))


def test_every_program_has_an_outcome(monkeypatch):
  job, found = outcomes(monkeypatch, "pass")
  assert [one.kind for one in found] == [s.kind for s in job.shapes]
  assert not any(one.refused for one in found)


def test_a_death_costs_one_program_and_says_why(monkeypatch):
  before = (
      "import os; shape['kind'] == 'decode' and"
      " (print('F0 Check failed: too odd', file=sys.stderr, flush=True),"
      " os.abort())"
  )
  _, found = outcomes(monkeypatch, before)
  refused = {one.kind: one.refused for one in found if one.refused}
  assert list(refused) == ["decode"]
  assert "signal 6" in refused["decode"]
  assert "Check failed: too odd" in refused["decode"]


@pytest.mark.skipif(
    not importlib.util.find_spec("libtpu"), reason="libtpu is not installed"
)
def test_a_tiny_model_compiles_for_a_tpu_and_fits():
  run = run_of()
  (job,) = jobs_of(run)
  found = list(launch.compiled(job, TARGET, 300.0))
  assert not [one.refused for one in found if one.refused]
  assert all(one.argument_bytes >= one.pool_bytes > 0 for one in found)
  room = verdict(job, TARGET, build(run.workload), found)
  assert room and room.fits
  assert room.tokens > 512
