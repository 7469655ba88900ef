"""The package's own configs are without mistakes."""

import pytest

from pdjax.cli import configfile
from pdjax.cli.experiment import main

CONFIGS = [
    path
    for folder in configfile.packaged_folders()
    for path in configfile.configs_in(folder)
]


@pytest.mark.parametrize("path", CONFIGS, ids=[path.stem for path in CONFIGS])
def test_a_packaged_config_has_no_mistake(path, monkeypatch, capsys):
  monkeypatch.chdir(path.parents[1])
  status = main([f"--config={path}", "--dry_run"])
  errors = capsys.readouterr().err.splitlines()
  missing = [line for line in errors if "has not been fetched" in line]
  elsewhere = [line for line in errors if "there are" in line]  # devices
  assert errors == missing or errors == elsewhere
  assert status == (2 if errors else 0)
