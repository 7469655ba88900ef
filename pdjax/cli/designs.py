"""The rivals and designs of a search, and what is wrong with asking for it.

A case is a rival; without cases each `strategy.kind` is one. The cells of a
search are its designs, each at the first rate.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from pdjax import schema
from pdjax.checks import Check
from pdjax.config import Run
from pdjax.metrics.slo import terms_of
from pdjax.metrics.summary import chips_of
from pdjax.reads import SEED, arrival_of, roles_of, vain
from pdjax.search.contest import Plan
from pdjax.search.designs import Design, Rival
from pdjax.search.whole import budgets
from pdjax.sweep.cells import Cell
from pdjax.sweep.experiment import Experiment
from pdjax.sweep.search import SEEDS, Search

RATE = "workload.rate"
_ARRIVALS = ("poisson", "gamma", "constant", "trace")
"""Those whose rate can be set, and whose requests a window can count."""


def rivals_of(cells: Sequence[Cell]) -> list[Rival]:
  """The rivals in order of their first designs, which are numbered as cells."""
  groups: dict[str, list[int]] = {}
  for number, cell in enumerate(cells):
    groups.setdefault(cell.case or cell.run.strategy.kind, []).append(number)
  return [
      Rival(
          name=name,
          family=(
              "disaggregated"
              if roles_of(cells[numbers[0]].run) & {"P", "D"}
              else "colocated"
          ),
          designs=tuple(_design(n, cells[n]) for n in numbers),
      )
      for name, numbers in groups.items()
  ]


def _design(number: int, cell: Cell) -> Design:
  swept = {path: v for path, v in cell.swept.items() if path != SEED}
  values = {path: _plain(cell.run, path) for path in swept}
  return Design(
      number=number, label=dataclasses.replace(cell, swept=swept).label,
      chips=chips_of(cell.run), values=values,
  )


def _plain(run: Run, path: str) -> Any:
  """A field as the resolved run has it, fit for JSON."""
  value: Any = schema.tree_of(run)
  for name in path.split("."):
    value = value.get(name) if isinstance(value, dict) else None
  return value


def plan_of(one: Experiment, cells: Sequence[Cell]) -> Plan:
  """How the rivals are searched."""
  assert one.search is not None
  first = cells[0].run
  return Plan(
      first_per_chip=(first.workload.rate or 0.0) / chips_of(first),
      seeds=one.sweep.seeds or SEEDS,
      tune_seeds=one.search.tune_seeds,
      tolerance=one.search.tolerance,
      doublings=one.search.doublings,
      slo=first.slo,
  )


# Mistakes. --------------------------------------------------------------------


def _protocol(run: Run) -> Iterator[str]:
  if run.workload.protocol != "steady":
    yield (
        "workload.protocol: sweep.search measures every rate over the same"
        " time, so it must be 'steady'"
    )


def _rate(run: Run) -> Iterator[str]:
  arrival = arrival_of(run.workload)
  if arrival not in _ARRIVALS:
    yield (
        f"workload.arrival: sweep.search needs arrivals at a rate, got"
        f" {arrival!r}; allowed: {', '.join(_ARRIVALS)}"
    )
  elif run.workload.rate is None:
    yield "workload.rate: sweep.search needs the first rate to try"


def _slo(run: Run) -> Iterator[str]:
  terms = terms_of(run.slo)
  if not terms:
    yield "slo: sweep.search needs an SLO, such as slo.ttft_s and slo.tpot_s"
  shared = any(term.scope == "request" for term in terms)
  if shared and run.slo.attainment == 1:
    yield (
        "slo.attainment: no number of requests shows that all would be good;"
        " sweep.search needs less than 1"
    )


def _seeds(run: Run) -> Iterator[str]:
  if vain(run, [SEED]):
    yield (
        "sweep.search: seeds would be one run counted again, for nothing is"
        " drawn; on a trace workload.arrival='poisson' keeps its lengths and"
        " draws the arrivals, workload.jitter_s delays each at random"
    )


CHECKS: tuple[Check, ...] = (_protocol, _rate, _slo, _seeds)
"""Of each design of a search."""


def mistakes(search: Search, cells: Sequence[Cell]) -> Iterator[str]:
  """What is wrong with the rivals as a whole."""
  rivals = rivals_of(cells)
  seeds = len(search.tune_seeds)
  shares = budgets(rivals, search.budget)
  for rival, share in zip(rivals, shares, strict=True):
    needed = len(rival.designs) * seeds
    if share is not None and share < needed:
      yield (
          f"sweep.search.budget: {search.budget} leave {share} runs to"
          f" {rival.name}, fewer than its {len(rival.designs)} designs once"
          f" over {seeds} seeds ({needed})"
      )
  if any(cell.run.slo != cells[0].run.slo for cell in cells):
    yield "slo: designs have different ones; a search compares under one"
  if len({cell.run.backend.draw for cell in cells}) > 1:
    yield (
        "backend.draw: designs have different ones; a draw of the costs is no"
        " design, and a search would take the luckiest: search under one"
        " (--config.backend.draw=1 --output_dir=DIR), then under others"
    )
