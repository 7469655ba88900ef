"""Shows that measured runs and the simulator share one scheduler.

Each measured log is replayed, decision by decision. Then step costs are fitted
to half of a run's steps, the simulator serves the same requests, and the errors
of its figures are printed beside what a repeated measurement differs by.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from pdjax.calibrate.fidelity import Compared, compare
from pdjax.calibrate.fit import step_errors
from pdjax.cli.fidelity_runs import (
    Measured,
    own_prices,
    runs_of,
    served_again,
)
from pdjax.config import Run
from pdjax.events import Log
from pdjax.metrics.requests import table_of
from pdjax.schedule.replay import replay
from pdjax.schedule.setup import world_of
from pdjax.simulate.stepcosts import policy_for
from pdjax.sweep import jsonfile

Say = Callable[[str], None]


def show(folder: Path, say: Say) -> Path:
  """Prints the proof for all runs of an experiment; the file that keeps it."""
  told: list[str] = []

  def both(text: str) -> None:
    told.append(text)
    say(text)

  rows = jsonfile.read(folder / "summary.json") or []
  _prove(runs_of(folder, rows), both)
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
    figures = _compared(first.log, second.log, first.run)
    say(_line("noise: measured again", _percent(figures)))


def _replay(one: Measured, say: Say) -> None:
  world = world_of(one.run, *one.sizes)
  result = replay(one.log, policy_for(one.run), world)
  say(
      f"  {one.label:<20} replayed: {result.identical} of {result.commands}"
      f" commands identical {result.difference}".rstrip()
  )


def _simulate(one: Measured, say: Say) -> None:
  """Fits step costs to half of a run's steps, and serves it once more."""
  seen = one.observe()
  cost, link = own_prices(one, seen)
  again = served_again(one, cost, link)
  figures = _compared(one.log, again, one.run)
  held_out = np.median(np.abs(step_errors(cost, seen.steps[1::2])))
  say(_line(one.label, [*_percent(figures), f"{held_out:.0%}"]))


def _compared(measured: Log, other: Log, run: Run) -> list[Compared]:
  return compare(table_of(measured, run), table_of(other, run), _SHOWN)


def _percent(figures: Sequence[Compared]) -> list[str]:
  return [f"{figure.error:+.0%}" for figure in figures]


_SHOWN = (
    ("ttft", 50), ("ttft", 99), ("tpot", 50), ("tpot", 99), ("itl", 50),
    ("itl", 99), ("e2el", 50),
)
_FIGURES = [f"{metric} p{percent}" for metric, percent in _SHOWN]
_HEADING = """
  The same requests on the virtual clock. Each run's step costs are eight prices
  fitted to every second of its own steps, and what workers that share cores
  lose to each other, so this is the error of the timing model and no forecast.
  `a step`: median error on the steps left out."""


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
