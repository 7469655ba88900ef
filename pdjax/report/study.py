"""Runs that one figure may show together, as designs under loads.

A study is runs of one kind and one contract but for what a load changes: the
rate, the seed, and with them the very requests. At one load and seed any two of
its runs have equal contracts, so they may form a ratio; per chip, so the number
of chips may differ too. Measured and simulated runs never share a study.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pdjax.metrics import replications
from pdjax.metrics.intervals import Interval
from pdjax.report import palette
from pdjax.report.drawn import draw_of, shown_runs, undrawn, undrawn_label
from pdjax.report.record import Record

_OF_A_LOAD = (
    "rate_per_s", "content_sha256", "users", "window", "chips",
    "first_token_anchor",
)
"""Fields of a contract that differ between loads, or may differ anyway."""
_DRAWS = ("rate", "time_scale", "num_requests", "concurrency", "seed")
"""Fields of a workload that set its load, and what is drawn for it."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Point:
  """A design under a load: a run for each seed."""

  rate: float
  """Requests offered per second and chip; NaN where all come at once."""
  runs: tuple[Record, ...]

  def values(self, key: str) -> list[float]:
    """A figure of the summaries; none of them where any has none."""
    found = [run.summary.get(key) for run in self.runs]
    return [v for v in found if v is not None] if None not in found else []

  def mean(self, key: str) -> float:
    """Over the seeds; NaN where any has none."""
    values = self.values(key)
    return float(np.mean(values)) if values else float("nan")

  def interval(self, key: str) -> Interval:
    """Of the mean, from replications; without bounds of one seed."""
    return replications.of_means(self.values(key))

  def by_seed(self, key: str) -> dict[int, float]:
    return {
        run.tree()["workload"]["seed"]: value
        for run in self.runs
        if (value := run.summary.get(key)) is not None
    }

  @property
  def doubtful(self) -> bool:
    return any(run.doubtful for run in self.runs)

  @property
  def load(self) -> tuple[Any, ...]:
    """Equal where requests are equal but for the seed."""
    return load_of(self.runs[0])

  def met(self, anchor: str = "") -> bool | None:
    """Whether the SLO is met: by the mean attainment and in no run a term of
    the whole run missed; None where that cannot be judged."""
    suffix = f"_{anchor}" if anchor else ""
    told = [run.summary.get(f"slo_met{suffix}") for run in self.runs]
    if None in told or len(set(told)) == 1:
      return None if None in told else told[0]
    if any(run.summary.get(key) is False for run in self.runs
           for key in run.summary if key.startswith("slo_holds[")):
      return False
    level = self.runs[0].contract["slo"]["attainment"]
    return self.mean(f"slo_attainment{suffix}") >= level


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Design:
  """A strategy with all its settings, under one load or several."""

  label: str
  style: int
  strategy: str
  disaggregated: bool
  points: tuple[Point, ...]
  """By rate."""

  @property
  def runs(self) -> list[Record]:
    return [run for point in self.points for run in point.runs]

  @property
  def tree(self) -> Mapping[str, Any]:
    return self.points[0].runs[0].tree()

  def at(self, load: tuple[Any, ...]) -> Point | None:
    return next((p for p in self.points if p.load == load), None)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Study:
  """Designs of one kind and contract."""

  designs: tuple[Design, ...]
  drawn: tuple[Record, ...] = ()
  """All its runs under costs drawn within their uncertainty. Designs have those
  of one draw alone, as `shown_runs` has it."""

  @property
  def runs(self) -> list[Record]:
    return [run for design in self.designs for run in design.runs]

  @property
  def kind(self) -> str:
    return self.designs[0].runs[0].kind

  @property
  def slo(self) -> Mapping[str, Any]:
    return self.designs[0].runs[0].contract["slo"]

  @property
  def rates(self) -> list[float]:
    """All that were offered, growing."""
    return sorted({
        p.rate for d in self.designs for p in d.points if np.isfinite(p.rate)
    })

  @property
  def under_load(self) -> bool:
    """Whether any design was run under several rates."""
    return any(
        len([p for p in design.points if np.isfinite(p.rate)]) > 1
        for design in self.designs
    )


def studies_of(records: Sequence[Record]) -> list[Study]:
  """Measured ones first; designs in the order of their first runs."""
  found: dict[str, list[Record]] = {}
  for record in sorted(records, key=lambda record: record.kind):
    found.setdefault(_contract(record), []).append(record)
  return [
      Study(
          designs=designs_of(shown_runs(runs)),
          drawn=tuple(run for run in runs if draw_of(run)),
      )
      for runs in found.values()
  ]


def load_of(record: Record) -> tuple[Any, ...]:
  """What sets the load of a run, and its chips."""
  workload = record.tree()["workload"]
  drawn = [workload.get(name) for name in _DRAWS if name != "seed"]
  return (*drawn, json.dumps(record.contract.get("users")))


def _contract(record: Record) -> str:
  """One text for all runs of a study."""
  workload = {
      name: value
      for name, value in record.tree()["workload"].items()
      if name not in _DRAWS
  }
  told = undrawn(
      {k: v for k, v in record.contract.items() if k not in _OF_A_LOAD}
  )
  return json.dumps([record.kind, told, workload], sort_keys=True)


def designs_of(runs: Sequence[Record]) -> tuple[Design, ...]:
  """Those of one contract, under whatever loads and draws."""
  found: dict[str, list[Record]] = {}
  for run in runs:
    found.setdefault(_design(run), []).append(run)
  names = _distinct([_label(each) for each in found.values()])
  return tuple(
      Design(
          label=name, style=style, strategy=each[0].asked.strategy.kind,
          disaggregated="P" in each[0].conditions["design"]["split"],
          points=_points(each),
      )
      for style, (name, each) in enumerate(
          zip(names, found.values(), strict=True)
      )
  )


def _design(run: Record) -> str:
  tree = undrawn(run.tree())
  tree["workload"] = {
      k: v for k, v in tree["workload"].items() if k not in _DRAWS
  }
  return json.dumps([tree, run.repeat], sort_keys=True)


def _points(runs: Sequence[Record]) -> tuple[Point, ...]:
  found: dict[tuple[Any, ...], list[Record]] = {}
  for run in runs:
    found.setdefault(load_of(run), []).append(run)
  points = [
      Point(rate=rate_of(each), runs=tuple(each)) for each in found.values()
  ]
  return tuple(sorted(points, key=lambda point: point.rate))


def rate_of(runs: Sequence[Record]) -> float:
  """Requests per second and chip, of runs under one load.

  As asked for; else what came, on average over the seeds.
  """
  asked, chips = runs[0].contract.get("rate_per_s"), runs[0].summary["chips"]
  if asked is not None:
    return asked / chips
  came = [run.summary.get("offered_rate_per_chip") for run in runs]
  return float(np.mean([np.nan if rate is None else rate for rate in came]))


def _label(runs: Sequence[Record]) -> str:
  """The words that all its runs' labels share, but for those of the load."""
  first, *others = runs
  words = [
      word
      for word in undrawn_label(first.label).split()
      if all(word in other.label.split() for other in others)
      and word.partition("=")[0].removeprefix("workload.") not in _DRAWS
  ]
  return " ".join(words) or first.asked.strategy.kind


def _distinct(names: Sequence[str]) -> list[str]:
  """Names that occur twice are numbered."""
  seen: dict[str, int] = {}
  told = []
  for name in names:
    seen[name] = seen.get(name, 0) + 1
    told.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
  return told


def drawn_designs(study: Study, best: Sequence[Design]) -> list[Design]:
  """As many designs as can be told apart: the best ones first kept."""
  kept = [*best, *(d for d in study.designs if d not in best)]
  chosen = kept[: palette.SERIES]
  return [design for design in study.designs if design in chosen]
