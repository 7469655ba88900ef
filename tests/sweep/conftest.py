"""A plain simulated cell, and a made-up run folder for it."""

import json

import pytest

from pdjax import schema
from pdjax.sweep.cells import Cell


@pytest.fixture
def cell():
  run = schema.run_from_tree({"cluster": {"chip": "h100-sxm"}})
  return Cell(run=run, case="plain")


@pytest.fixture
def fill():
  def write(folder, **summary):
    (folder / "summary.json").write_text(json.dumps(summary or {"value": 0}))
    (folder / "events.parquet").write_text("events")

  return write
