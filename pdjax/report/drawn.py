"""Which runs are of costs as stated, and which of draws of them.

Runs that differ in `backend.draw` alone are one design under costs drawn within
their uncertainty: no conditions to compare. Tables and figures show one draw of
each set of costs; `pdjax.report.draws` judges over all of them.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pdjax.report.designs import label_of, without_seed
from pdjax.report.groups import ReportedRun

_SAID = re.compile(r"; draw \d+ of them$")
"""At the end of a cost profile."""

_R = TypeVar("_R", bound=ReportedRun)


def draw_of(run: ReportedRun) -> int:
  """0 where costs are as stated, and of measured runs."""
  return run.config.get("backend", {}).get("draw", 0) if run.config else 0


def undrawn(tree: Mapping[str, Any]) -> dict[str, Any]:
  """A config, or a contract, without what tells a draw apart."""
  found = dict(tree)
  if isinstance(backend := tree.get("backend"), Mapping):
    found["backend"] = {k: v for k, v in backend.items() if k != "draw"}
  if profile := tree.get("cost_profile"):
    found["cost_profile"] = _SAID.sub("", profile)
  return found


def undrawn_label(label: str) -> str:
  """Without the word that tells a draw apart."""
  return " ".join(
      word for word in label.split()
      if word.partition("=")[0] not in ("draw", "backend.draw")
  )


def shown_runs(runs: Sequence[_R]) -> list[_R]:
  """Those of one draw of each set of costs: the first that has most runs, so
  costs as stated where they were run too."""
  counts: dict[tuple[Any, ...], Counter[int]] = {}
  for run in runs:
    counts.setdefault(_costs(run), Counter())[draw_of(run)] += 1
  chosen = {
      costs: max(sorted(each), key=lambda draw, each=each: each[draw])
      for costs, each in counts.items()
  }
  return [run for run in runs if draw_of(run) == chosen[_costs(run)]]


def shown_words(runs: Sequence[ReportedRun]) -> str:
  """That some runs are left to the verdict over draws; empty without any."""
  shown = {id(run) for run in shown_runs(runs)}
  if len(shown) == len(runs):
    return ""
  draws = len({draw_of(run) for run in runs} - {0})
  first = sorted({draw_of(run) for run in runs if id(run) in shown})
  which = " and ".join(f"draw {n}" if n else "costs as stated" for n in first)
  return (
      f"The costs were drawn {draws} times: one design a draw is no other"
      f" design. Shown: {which}; the verdict is over all draws."
  )


def by_design(
    runs: Sequence[_R],
) -> list[tuple[str, list[_R], bool]]:
  """Runs alike but for seed and draw, under their label, and whether costs were
  drawn several times; of equal runs the first."""
  found: dict[str, dict[tuple[int, int], _R]] = {}
  for run in runs:
    if run.config is None:
      continue
    key = draw_of(run), run.config["workload"]["seed"]
    found.setdefault(
        without_seed(undrawn(run.config)), {}
    ).setdefault(key, run)
  return [
      (_label(list(each.values())), list(each.values()),
       len({draw for draw, _ in each}) > 1)
      for each in found.values()
  ]


def _label(runs: Sequence[ReportedRun]) -> str:
  return label_of(dict(enumerate(runs)))


def _costs(run: ReportedRun) -> tuple[Any, ...]:
  contract = undrawn(run.conditions.get("contract", {}))
  return run.summary.get("kind"), contract.get("cost_profile")
