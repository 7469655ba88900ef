"""A folder with one small simulated experiment, and the command line in it."""

import pytest

from pdjax.cli.experiment import main

CONFIG = '''"""Which strategy is best on a tiny load?"""

from ml_collections import ConfigDict


def get_config():
  return ConfigDict({
      "model": {"preset": "llama-3-8b"},
      "cluster": {"chip": "h100-sxm", "split": "2C"},
      "workload": {
          "rate": 20.0,
          "num_requests": 10,
          "prompt": {"mean": 64.0},
          "output": {"mean": 4.0},
      },
  })
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  (tmp_path / "x.py").write_text(CONFIG)
  return tmp_path


@pytest.fixture
def command(folder, capsys):
  """Runs the command; returns (exit status, output, lines of errors)."""

  def run(*arguments, config="x"):
    capsys.readouterr()
    given = [f"--config={config}"] if config else []
    status = main([*given, *arguments])
    told = capsys.readouterr()
    return status, told.out, told.err.splitlines()

  return run
