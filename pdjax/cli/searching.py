"""`sweep.search` with real runs: rivals from cells, probes into cells.

The search itself is `pdjax.search`. A probe is a cell like any other, so what
is finished is used again, by whatever command it was run.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pdjax import checks
from pdjax.cli import report, requests
from pdjax.cli.designs import RATE, plan_of, rivals_of
from pdjax.cli.flags import Flags
from pdjax.cli.plan import Part, made_by
from pdjax.cli.work import Work
from pdjax.metrics.conditions import comparable, split_of
from pdjax.metrics.trust import trust
from pdjax.reads import SEED
from pdjax.report.search import table
from pdjax.search.asking import Found, NoRun, Probe, Row
from pdjax.search.record import Recorder, verdict_words
from pdjax.search.whole import Ended, budgets, whole
from pdjax.sweep import jsonfile, launch
from pdjax.sweep.cells import Cell
from pdjax.sweep.store import REPORT_LOCK

Say = Callable[[str], None]

FILE = "search.json"
_OF_THE_PROBE = ("content_sha256", "rate_per_s", "chips")
"""Of a contract: what one rate, seed or design has by itself."""


def search(part: Part, flags: Flags, say: Say) -> list[str]:
  """Runs a search and keeps its results; a line for each failure."""
  served = _Served(part, flags, say)
  ended = served.search()
  if ended is None:
    return served.failures
  found = _record(part, served, ended)
  for line in part.store.write_summary(_description(part, served)):
    say(f"! left out of the summary, damaged: {line}")
  jsonfile.write(part.store.folder / FILE, found)
  say("\n" + table(found))
  say(f"\n{len(served.rows)} runs, {served.new} of them new")
  with part.store.locked(REPORT_LOCK):
    page = report.remake(part.store.folder)
  if page:
    say(f"\nreport: {page}")
  return served.failures


class _Served:
  """Probes and the runs that answer them."""

  def __init__(self, part: Part, flags: Flags, say: Say):
    self._part, self._flags, self._say = part, flags, say
    self.cells: dict[Probe, Cell] = {}
    self.rows: dict[Probe, Row] = {}
    self.folders: dict[Probe, Path] = {}
    self.failures: list[str] = []
    self._spares = launch.Spares()
    self.new = 0
    """Runs that were not there before."""

  def search(self) -> Ended | None:
    """The whole search; None where a failure has stopped it."""
    part = self._part
    assert part.experiment.search is not None
    asking = whole(
        rivals_of(part.cells.cells), plan_of(part.experiment, part.cells.cells),
        part.experiment.search.budget, lambda text: self._say(f"  {text}"),
    )
    with contextlib.closing(asking), contextlib.closing(self._spares):
      try:
        wanted = next(asking)
        while True:
          found = self._serve(list(dict.fromkeys(wanted)))
          if self.failures and self._flags.fail_fast:
            return None
          wanted = asking.send(found)
      except StopIteration as end:
        return end.value

  def _serve(self, probes: Sequence[Probe]) -> Found:
    """Finds or makes the runs of some probes."""
    found: dict[Probe, Row | NoRun] = {}
    due: dict[Probe, Cell] = {}
    for probe in probes:
      cell = self.cells[probe] = self._cell(probe)
      if probe in self.rows or self._is_there(probe, cell):
        found[probe] = self.rows[probe]
      elif lines := checks.mistakes(cell.run, requests.CHECKS):
        found[probe] = NoRun("; ".join(lines), failed=False)
      else:
        due[probe] = cell
    return found | self._run(due)

  def _is_there(self, probe: Probe, cell: Cell) -> bool:
    run = self._part.store.find(cell, made_by(cell)).run
    if run is None or self._flags.rerun:
      return False
    self._keep(probe, run)
    return True

  def _run(self, due: dict[Probe, Cell]) -> dict[Probe, Row | NoRun]:
    if not due:
      return {}
    simulated = self._part.cells.cells[0].run.backend.kind == "simulated"
    self._say("  1 run" if len(due) == 1 else f"  {len(due)} runs")
    work = Work(
        self._part, list(due.values()), self._flags, self._say,
        quiet=simulated, spares=self._spares,
    )
    work.run()
    self.failures += work.failures
    found: dict[Probe, Row | NoRun] = {}
    for probe, cell in due.items():
      if cell.id in work.runs:
        self._keep(probe, work.runs[cell.id])
        self.new += 1
        found[probe] = self.rows[probe]
      else:
        found[probe] = NoRun(f"{cell.label} has no result", failed=True)
    return found

  def _keep(self, probe: Probe, run: Path) -> None:
    self.folders[probe] = run
    self.rows[probe] = jsonfile.read_object(run / "summary.json")

  def _cell(self, probe: Probe) -> Cell:
    """A design's cell at the probe's rate and seed."""
    design = self._part.cells.cells[probe.design]
    workload = dataclasses.replace(
        design.run.workload, rate=probe.rate, seed=probe.seed
    )
    swept = {k: v for k, v in design.swept.items() if k != SEED}
    return dataclasses.replace(
        design, run=dataclasses.replace(design.run, workload=workload),
        swept=swept | {RATE: probe.rate, SEED: probe.seed},
    )


def _record(part: Part, served: _Served, ended: Ended) -> dict[str, Any]:
  """What `search.json` holds."""
  experiment, cells = part.experiment, part.cells.cells
  assert experiment.search is not None
  plan, budget = plan_of(experiment, cells), experiment.search.budget
  recorder = Recorder(
      plan, served.rows, lambda probe: f"runs/{served.folders[probe].name}"
  )
  shares = budgets([one.rival for one in ended.contests], budget)
  contracts = list(_contracts(served, ended))
  differ = _differing(contracts)
  rivals = [
      recorder.rival(one, share) | _told(cells[one.design.number])
      for one, share in zip(ended.contests, shares, strict=True)
  ]
  verdict = None if differ else ended.verdict
  kind = "measured" if _measured(part) else "simulated"
  profile = contracts[0].get("cost_profile") if contracts else None
  return {
      "name": part.name,
      "kind": kind,
      "contract": contracts[0] if contracts else None,
      "settings": recorder.settings(budget),
      "rivals": rivals,
      "verdict": (
          verdict_words(verdict, trust(kind, profile, searched=True))
          if verdict else None
      ),
      "no_verdict": (
          f"contracts differ in {', '.join(differ)}" if differ else None
      ),
  }


def _measured(part: Part) -> bool:
  return part.cells.cells[0].run.backend.kind == "jax"


def _told(cell: Cell) -> dict[str, Any]:
  """What a reader wants to know of a best design beside what was varied."""
  return {"strategy": cell.run.strategy.kind, "split": split_of(cell.run)}


def _contracts(served: _Served, ended: Ended) -> Iterator[dict[str, Any]]:
  """Of each rival's best design, as far as it does not follow from a rate."""
  for one in ended.contests:
    for probe in [probe for seen in one.seen for probe in seen.probes][:1]:
      run = served.folders[probe]
      told = jsonfile.read_object(run / "conditions.json")["contract"]
      own = jsonfile.read_object(run / "config.json")["workload"]
      kept = {k: v for k, v in told.items() if k not in _OF_THE_PROBE}
      yield kept | {
          "workload": {k: own[k] for k in own if k not in ("rate", "seed")}
      }


def _differing(contracts: Sequence[dict[str, Any]]) -> list[str]:
  """Fields of the contract that any rival has otherwise than the first."""
  return sorted({
      field
      for other in contracts[1:]
      for field in comparable(
          {"contract": contracts[0]}, {"contract": other}
      )
  })


def _description(part: Part, served: _Served) -> dict[str, Any]:
  """What `experiment.json` holds."""
  return {
      "name": part.name,
      "question": part.question,
      "cells": [served.cells[probe].described for probe in served.rows],
      "merged": part.cells.merged,
  }
