"""Runs that differ in their seed alone are one design, seen several times."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pdjax.report.groups import ReportedRun

Seeds = dict[int, ReportedRun]
"""The runs of one design by `workload.seed`; of repeats the first."""


def designs_of(runs: Sequence[ReportedRun]) -> list[Seeds]:
  designs: dict[str, Seeds] = {}
  for run in runs:
    if run.config is None:
      continue
    seed = run.config["workload"]["seed"]
    designs.setdefault(without_seed(run.config), {}).setdefault(seed, run)
  return list(designs.values())


def without_seed(config: Mapping[str, Any]) -> str:
  workload = {k: v for k, v in config["workload"].items() if k != "seed"}
  return json.dumps({**config, "workload": workload}, sort_keys=True)


def label_of(each: Seeds) -> str:
  """The words that all seeds' labels share; without any, the strategy's kind.

  What only some have tells a seed apart, not the design.
  """
  first, *others = each.values()
  shared = [
      word for word in first.label.split()
      if all(word in run.label.split() for run in others)
  ]
  return " ".join(shared) or _strategy(first)


def _strategy(run: ReportedRun) -> str:
  assert run.config is not None
  return run.config["strategy"]["kind"]
