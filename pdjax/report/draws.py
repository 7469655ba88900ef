"""Which design is best if the costs are off: verdicts over draws of them.

Runs that differ in `backend.draw` alone are one design under costs drawn within
their uncertainty. The designs of one draw share its costs, so each draw has a
winner; a verdict is one that holds in 95 % of them.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from pdjax.report.groups import ReportedRun

WANTED = 20
"""Draws that a verdict needs."""
DECIDED = 0.95
FIGURE = "request_goodput_per_chip"


def draw_of(run: ReportedRun) -> int:
  return run.config["backend"].get("draw", 0) if run.config else 0


def shown_runs(runs: Sequence[ReportedRun]) -> list[ReportedRun]:
  """Those whose costs are as stated; of drawn ones alone, the first draw."""
  first = min(map(draw_of, runs), default=0)
  return [run for run in runs if draw_of(run) == first]


def over_draws(runs: Sequence[ReportedRun]) -> str:
  """How many draws each design wins; empty without draws of several designs."""
  goodput: dict[int, dict[str, list[float]]] = {}
  labels: dict[str, str] = {}
  for run in runs:
    value = run.summary.get(FIGURE)
    if draw_of(run) and value is not None:
      design = _design(run)
      labels.setdefault(design, run.label)
      by_design = goodput.setdefault(draw_of(run), {})
      by_design.setdefault(design, []).append(value)
  draws = [each for each in goodput.values() if len(each) == len(labels)]
  if len(labels) < 2 or not draws:
    return ""
  wins = Counter(
      max(each, key=lambda design: fmean(each[design])) for each in draws
  )
  told = ", ".join(
      f"{_plain(labels[design])} in {count}"
      for design, count in wins.most_common()
  )
  return (
      f"Over {len(draws)} draws of the costs, highest goodput a chip: {told}"
      f" of {len(draws)}: {_verdict(wins, len(draws))}"
  )


def _verdict(wins: Counter[str], draws: int) -> str:
  (_, most), *_ = wins.most_common(1)
  if draws < WANTED:
    return f"not decided: a verdict needs {WANTED} draws"
  if most < DECIDED * draws:
    return "not decided at this fidelity"
  return "the ordering holds at this fidelity"


def _design(run: ReportedRun) -> str:
  """The config without what is drawn, and without the seed."""
  assert run.config is not None
  tree = {
      **run.config,
      "backend": _without(run.config["backend"], "draw"),
      "workload": _without(run.config["workload"], "seed"),
  }
  return json.dumps(tree, sort_keys=True)


def _without(section: Mapping[str, Any], field: str) -> dict[str, Any]:
  return {name: value for name, value in section.items() if name != field}


def _plain(label: str) -> str:
  """Without the words that tell a draw apart."""
  return " ".join(w for w in label.split() if not w.startswith("draw="))
