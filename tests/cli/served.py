"""An experiment's results, served in this process: a moment a run."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from pdjax import config
from pdjax.cli.cell import run_cell
from pdjax.reads import resolved
from pdjax.sweep.cells import Cell
from pdjax.sweep.store import Store

_BASE = config.Run(
    model=config.Model(preset="llama-3-8b"),
    cluster=config.Cluster(chip="h100-sxm"),
    slo=config.SLO(ttft_s=1.0, tpot_s=0.1),
    workload=config.Workload(
        rate=20.0,
        num_requests=40,
        prompt=config.Lengths(mean=64.0),
        output=config.Lengths(mean=4.0),
    ),
)


def run_of(split: str, seed: int = 0, **sections) -> config.Run:
  """A run of 40 requests; a split with P disaggregates."""
  kind = "disaggregated" if "P" in split else "chunked"
  changed = {"strategy": {"kind": kind}, **sections}
  parts = {
      "cluster": {"split": split}, "workload": {"seed": seed},
  }
  for name, fields in changed.items():
    parts[name] = parts.get(name, {}) | fields
  return resolved(dataclasses.replace(
      _BASE,
      **{
          name: dataclasses.replace(getattr(_BASE, name), **fields)
          for name, fields in parts.items()
      },
  ))


def experiment(folder: Path, runs: Sequence[config.Run]) -> str:
  """Serves runs into a folder as the command does; returns its name."""
  store = Store(folder)
  cells = [
      Cell(
          run=run, case=run.cluster.split,
          swept={"workload.seed": run.workload.seed},
      )
      for run in runs
  ]
  for cell in cells:
    made = store.begin(cell)
    run_cell(cell.run, made, lambda _: None)
    store.finish(cell, made, {})
  store.write_summary({
      "name": folder.name, "cells": [cell.described for cell in cells],
  })
  return str(folder)
