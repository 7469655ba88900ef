"""Shows that measured runs and the simulator share one scheduler.

Each measured log is replayed, decision by decision. Then step costs are fitted
to half of a run's steps, the simulator serves the same requests, and the errors
of its figures are printed beside what a repeated measurement differs by.
"""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from pdjax import schema
from pdjax.calibrate.fidelity import (
  FIGURES,
  Compared,
  compare,
  simulate_again,
)
from pdjax.calibrate.fit import fit_cost, fit_link, step_errors
from pdjax.calibrate.observe import Observer, observe
from pdjax.cli.plant import pool_pages_of
from pdjax.config import Run
from pdjax.dtypes import Dtypes
from pdjax.eventfile import read_log
from pdjax.events import Log
from pdjax.models.sizes import spec_of
from pdjax.schedule.replay import replay
from pdjax.schedule.setup import policy_of, world_of
from pdjax.sweep import jsonfile

Say = Callable[[str], None]


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Measured:
  """A finished run with its log."""

  label: str
  repeat: int
  run: Run
  log: Log
  pool_pages: Sequence[int]

  def observe(self) -> Observer:
    return observe(
        self.log, policy_of(self.run), world_of(self.run, self.pool_pages)
    )


def show(folder: Path, say: Say) -> Path:
  """Prints the proof for all runs of an experiment; the file that keeps it."""
  told: list[str] = []

  def both(text: str) -> None:
    told.append(text)
    say(text)

  _prove(_read(folder), both)
  path = folder / "same_scheduler.txt"
  jsonfile.write_text(path, "\n".join(told) + "\n")
  return path


def _prove(runs: Sequence[Measured], say: Say) -> None:
  for one in runs:
    _replay(one, say)
  say(_HEADING)
  say(_line("error of the simulator", [*_FIGURES, "a step"]))
  for one in runs:
    if not one.repeat:
      _simulate(one, say)
  for first, second in _repeats(runs):
    figures = compare(first.log, second.log, first.run)
    say(_line("noise: measured again", _percent(figures)))


def _read(folder: Path) -> list[Measured]:
  rows = jsonfile.read(folder / "summary.json") or []
  return [_measured(folder / row["run"], row) for row in rows]


def _measured(folder: Path, row: dict) -> Measured:
  run = schema.run_from_tree(jsonfile.read(folder / "config.json"))
  log = read_log(folder / "events.parquet")
  return Measured(row["label"], row["repeat"], run, log, pool_pages_of(run))


def _replay(one: Measured, say: Say) -> None:
  world = world_of(one.run, one.pool_pages)
  result = replay(one.log, policy_of(one.run), world)
  say(
      f"  {one.label:<20} replayed: {result.identical} of {result.commands}"
      f" commands identical {result.difference}".rstrip()
  )


def _simulate(one: Measured, say: Say) -> None:
  """Fits step costs to half of a run's steps, and serves it once more."""
  seen = one.observe()
  cost = fit_cost(
      seen.steps[::2], seen.transfers, _kv_bytes_per_token(one.run)
  )
  link = fit_link(seen.transfers)
  again = simulate_again(one.log, one.run, cost, link, one.pool_pages)
  figures = compare(one.log, again, one.run)
  held_out = np.median(np.abs(step_errors(cost, seen.steps[1::2])))
  say(_line(one.label, [*_percent(figures), f"{held_out:.0%}"]))


def _kv_bytes_per_token(run: Run) -> int:
  spec = spec_of(run.model)
  return spec.kv_bytes_per_token(Dtypes.all(run.model.dtype).kv_bytes)


def _percent(figures: Sequence[Compared]) -> list[str]:
  return [f"{figure.error:+.0%}" for figure in figures]


_FIGURES = [f"{metric} p{percent}" for metric, percent in FIGURES]
_HEADING = """
  The same requests on the virtual clock. Each run's step costs are six prices
  fitted to every second of its own steps, so this is the error of the timing
  model and no forecast. Workers are simulated as isolated; here they share
  cores. `a step`: median error on the steps left out."""


def _line(label: str, cells: Sequence[str]) -> str:
  return f"  {label:<24}" + "".join(f"{cell:>10}" for cell in cells)


def _repeats(runs: Sequence[Measured]) -> list[tuple[Measured, Measured]]:
  """Pairs of runs of one config."""
  return [
      (first, second)
      for first in runs
      for second in runs
      if not first.repeat and second.repeat and first.run == second.run
  ]
