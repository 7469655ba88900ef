"""Provenance names what made a run and survives missing tools."""

import json
import subprocess
import sys
from pathlib import Path

from pdjax import __version__, accelerated
from pdjax.metrics.provenance import COMMAND, git_state, now, provenance


def test_names_versions_and_command():
  facts = provenance(
      started="then", folder=Path("a b"), command=["python", "x"],
      devices=["cpu"],
  )
  assert facts["started"] == "then"
  assert facts["repeat"] == (
      "python -m pdjax.cli.cell 'a b/config.json' NEW_FOLDER"
  )
  assert facts["packages"]["numpy"] and facts["packages"]["jax"]
  assert facts["packages"]["pdjax"] == __version__
  assert facts["accelerated"] == accelerated.loaded()
  assert facts["command"] == ["python", "x"] and facts["devices"] == ["cpu"]
  assert json.loads(json.dumps(facts)) == facts


def test_the_users_command_comes_through_the_environment(monkeypatch):
  monkeypatch.setenv(COMMAND, '["python", "-m", "pdjax.experiment"]')
  facts = provenance(started=now(), folder=Path("x"))
  assert facts["command"] == ["python", "-m", "pdjax.experiment"]
  monkeypatch.delenv(COMMAND)
  facts = provenance(started=now(), folder=Path("x"))
  assert facts["command"] == sys.orig_argv


def test_commit_only_of_the_packages_own_checkout(tmp_path):
  assert git_state(tmp_path) is None
  subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
  (tmp_path / "__init__.py").touch()
  assert git_state(tmp_path) is None
  identity = ["-c", "user.name=t", "-c", "user.email=t@t"]
  subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
  subprocess.run(
      ["git", *identity, "commit", "-qm", "x"], cwd=tmp_path, check=True
  )
  state = git_state(tmp_path)
  assert state and len(state["commit"]) == 40 and not state["modified"]
  (tmp_path / "__init__.py").write_text("1")
  changed = git_state(tmp_path)
  assert changed and changed["modified"]
