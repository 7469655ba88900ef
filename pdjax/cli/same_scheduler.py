"""Shows that measured runs and the simulator share one scheduler.

Each measured log is replayed, decision by decision. Then step costs are fitted
to half of all measured steps, the simulator serves the same requests, and the
errors of its figures are printed beside what a repeated measurement differs by.
"""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from pdjax import schema
from pdjax.calibrate.fidelity import FIGURES, compare, simulate_again
from pdjax.calibrate.fit import FittedCost, fit_cost, fit_link, step_errors
from pdjax.calibrate.observe import Observer, observe
from pdjax.cli.plant import pool_pages_of
from pdjax.config import Run
from pdjax.eventfile import read_log
from pdjax.events import Log
from pdjax.memory import DTYPE_BYTES
from pdjax.models.presets import preset
from pdjax.schedule.replay import replay
from pdjax.schedule.setup import policy_of, world_of
from pdjax.simulate.links import Link
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


def show(folder: Path, say: Say) -> None:
  """Prints the proof for all runs of an experiment."""
  runs = _read(folder)
  for one in runs:
    _replay(one, say)
  observed = [one.observe() for one in runs]
  steps = [seen for one in observed for seen in one.steps]
  transfers = [seen for one in observed for seen in one.transfers]
  cost = fit_cost(steps[::2], transfers, _kv_bytes_per_token(runs[0].run))
  say(_provenance(cost, steps))
  _show_errors(runs, cost, fit_link(transfers), say)


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


def _kv_bytes_per_token(run: Run) -> int:
  spec = preset(run.model.preset)
  return spec.kv_bytes_per_token(DTYPE_BYTES[run.model.dtype])


def _provenance(cost: FittedCost, steps: Sequence) -> str:
  held_out = np.abs(step_errors(cost, steps[1::2]))
  return (
      f"\n  Step costs: six prices fitted to every second of {len(steps)}"
      f" measured steps; error on the others:"
      f"\n  median {np.median(held_out):.0%}, 90th percentile"
      f" {np.quantile(held_out, 0.9):.0%}. Calibrated on this machine and these"
      " runs: no forecast of others."
  )


def _show_errors(
    runs: Sequence[Measured], cost: FittedCost, link: Link, say: Say
) -> None:
  names = [f"{metric} p{percent}" for metric, percent in FIGURES]
  say("\n" + _line("error of the simulator", names))
  for one in runs:
    if not one.repeat:
      again = simulate_again(one.log, one.run, cost, link, one.pool_pages)
      figures = compare(one.log, again, one.run)
      say(_row(one.label, [figure.error for figure in figures]))
  for first, second in _repeats(runs):
    figures = compare(first.log, second.log, first.run)
    say(_row("noise: measured again", [figure.error for figure in figures]))


def _row(label: str, errors: Sequence[float]) -> str:
  return _line(label, [f"{error:+.0%}" for error in errors])


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
