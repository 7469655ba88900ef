"""Measured runs, and each of them once more on the virtual clock."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pdjax import schema
from pdjax.calibrate.fidelity import (
    Compared,
    compare,
    middle,
    noise_floor,
    simulate_again,
)
from pdjax.calibrate.fit import fit_cost, fit_link, priced_ps, step_errors
from pdjax.calibrate.observe import Observer, StepSeen, observe
from pdjax.cli.compiled import paddings_of
from pdjax.cli.fidelity_choice import Choice, Design, choices
from pdjax.cli.plant import sizes_of
from pdjax.cli.replay import runs_in
from pdjax.config import ConfigError, Run
from pdjax.dtypes import Dtypes
from pdjax.eventfile import EventFileError, read_log
from pdjax.events import Log
from pdjax.metrics.flags import not_alone
from pdjax.metrics.requests import RequestTable, table_of
from pdjax.metrics.summary import summarize
from pdjax.models.sizes import spec_of
from pdjax.results import written
from pdjax.schedule.setup import worker_pools, world_of
from pdjax.schedule.staging import Budgets
from pdjax.simulate.fittedcost import FittedCost, Padding
from pdjax.simulate.links import Link
from pdjax.simulate.profiles import files
from pdjax.simulate.profiles.calibrated import Calibration
from pdjax.simulate.stepcosts import policy_for
from pdjax.sweep import jsonfile

RATES = ("output_throughput", "slo_attainment", "request_goodput")
"""Figures of a whole run, from its summary."""


@dataclasses.dataclass(frozen=True, eq=False)
class Measured:
  """A finished run with its log."""

  folder: Path
  label: str
  repeat: int
  run: Run
  log: Log
  sizes: tuple[Sequence[int], Budgets]
  """Pages of each worker: of its pool, and of its staging budget."""

  @property
  def table(self) -> RequestTable:
    return table_of(self.log, self.run)

  def observe(self) -> Observer:
    return observe(
        self.log, policy_for(self.run), world_of(self.run, *self.sizes),
        self.paddings,
    )

  @property
  def paddings(self) -> list[Padding]:
    """Sizes that the run's engine was compiled for, by worker."""
    return paddings_of(self.run)

  @property
  def shared(self) -> bool:
    """Whether its devices were parts of one processor, or one device."""
    on_cpu = self._said("conditions.json", "contract").get("chip") == "cpu"
    return self.run.cluster.share_devices or on_cpu

  @property
  def conditions(self) -> str:
    """Of what, on what, how much of it, with which versions."""
    contract = self._said("conditions.json", "contract")
    made_by = self._said("provenance.json")
    packages = made_by.get("packages") or {}
    return (
        f"{spec_of(self.run.model).name} {contract.get('dtype')},"
        f" {contract.get('chips')} x {contract.get('chip')} of"
        f" {made_by.get('cores')} cores ({made_by.get('machine')}), Python"
        f" {made_by.get('python')}, jax {packages.get('jax')}"
    )

  @property
  def doubts(self) -> Iterator[str]:
    """A line if other programs used its cores."""
    others_share = self._said("summary.json").get("others_core_share")
    for line in not_alone(others_share):
      yield f"repeat {self.repeat} {line}" if self.repeat else line

  def _said(self, file: str, member: str | None = None) -> dict[str, Any]:
    """What a file of the run says; nothing where it is not as expected."""
    tree = jsonfile.read(self.folder / file)
    tree = tree.get(member) if member and isinstance(tree, dict) else tree
    return tree if isinstance(tree, dict) else {}


@dataclasses.dataclass(frozen=True, eq=False)
class Found:
  """One run, measured once or several times, and simulated."""

  label: str
  repeats: int
  """How often it was measured; figures are the median of them."""
  figures: list[Compared]
  unbiased: list[Compared]
  """The same with all prices scaled so that the steps' sum is right: what is
  off for other reasons than the price of the mean step."""
  noise: Mapping[tuple[str, int], float]
  """What repeats differ by, over their median, by metric and percentile."""
  rates: dict[str, tuple[float, float]]
  """(measured, simulated) of `RATES`."""
  step_errors: np.ndarray
  """Signed, relative, of each step that was not fitted."""
  conditions: str = ""
  """Of what, on what, how much of it, with which versions."""
  notes: tuple[str, ...] = ()
  """What makes a measurement doubtful."""


@dataclasses.dataclass(frozen=True, eq=False)
class Fidelity:
  """All runs, and the choices among them."""

  prices: str
  runs: list[Found]
  choices: list[Choice]


def read(folders: Iterable[Path]) -> list[Measured]:
  """The measured runs in folders.

  Raises:
    ConfigError: a folder holds none, or one that cannot be read.
  """
  folders = list(folders)
  found = [run for folder in folders for run in _runs_at(folder)]
  if not found:
    raise ConfigError([f"{folder}: no measured run" for folder in folders])
  measured = [one for one in found if one.run.backend.kind == "jax"]
  if found and not measured:
    raise ConfigError(
        [f"{found[0].folder}: simulated; only a measured run can be compared"]
    )
  return measured


def _runs_at(folder: Path) -> list[Measured]:
  rows = jsonfile.read(folder / "summary.json")
  if isinstance(rows, list):
    needed = {"run", "label", "repeat"}
    if not all(isinstance(r, dict) and needed <= r.keys() for r in rows):
      raise ConfigError([
          f"{folder / 'summary.json'}: not an experiment's list of runs"
      ])
    return runs_of(folder, rows)
  return [_run_at(run, run.name, 0) for run in runs_in(folder)]


def runs_of(folder: Path, rows: Sequence[Mapping[str, Any]]) -> list[Measured]:
  """The runs of an experiment that the rows of its summary name."""
  return [
      _run_at(folder / row["run"], row["label"], row["repeat"]) for row in rows
  ]


def _run_at(folder: Path, label: str, repeat: int) -> Measured:
  tree = jsonfile.read(folder / "config.json")
  if not isinstance(tree, dict):
    raise ConfigError([f"{folder}: not a run's folder: no config.json"])
  if other := written.refusal(folder, asked=tree):
    raise ConfigError([f"{folder}: {other}"])
  run, _ = schema.read(tree)
  try:
    log = read_log(folder / "events.parquet")
  except EventFileError as error:
    raise ConfigError([str(error)]) from error
  if not isinstance(jsonfile.read(folder / "conditions.json"), dict):
    raise ConfigError([
        f"{folder}: no conditions.json that can be read: what devices the run"
        " was on is not known"
    ])
  return Measured(folder, label, repeat, run, log, sizes_of(run))


def compared(
    runs: Sequence[Measured], calibrations: Sequence[str] = ()
) -> Fidelity:
  """Every run, served again once, whether or not it was measured again.

  Args:
    runs: measured, repeats among them.
    calibrations: files, one a model; without, each run prices itself.

  Raises:
    ConfigError: a calibration cannot be read, or none is of a run's model.
    Diverged: a log is not repeated by its scheduler.
  """
  known = {path: files.calibration(path, _FLAG) for path in calibrations}
  alike = [*_alike(runs)]
  firsts = [repeats[0] for repeats in alike]
  found = [_found(repeats, _of_model(repeats[0], known)) for repeats in alike]
  return Fidelity(
      prices="; ".join(
          f"{Path(path).name}: {each.accuracy}" for path, each in known.items()
      ) or "fitted to every second step of each run itself",
      runs=found,
      choices=list(choices(map(_design, firsts, found))),
  )


def _design(one: Measured, found: Found) -> Design:
  measured, simulated = found.rates.get("request_goodput", (0.0, 0.0))
  return Design(
      label=found.label,
      conditions=jsonfile.read(one.folder / "conditions.json"),
      measured=measured,
      simulated=simulated,
  )


def _found(
    repeats: Sequence[Measured], known: Calibration | None
) -> Found:
  one, seen = repeats[0], [each.observe() for each in repeats]
  every = [step for each in seen for step in each.steps]
  if known:
    cost, link, judged = known.cost, known.link or fit_link([]), every
  else:
    cost, link = own_prices(one, seen[0])
    judged = seen[0].steps[1::2]
  tables, again = [each.table for each in repeats], _again(one, cost, link)
  unbiased = _again(one, _unbiased(cost, every), link)
  figures = [compare(table, again) for table in tables]
  return Found(
      label=one.label,
      repeats=len(repeats),
      figures=middle(figures),
      unbiased=middle([compare(table, unbiased) for table in tables]),
      noise=noise_floor(figures),
      rates=dict(_rates(one.run, tables, again)),
      step_errors=step_errors(cost, judged),
      conditions=one.conditions,
      notes=tuple(note for each in repeats for note in each.doubts),
  )


def own_prices(one: Measured, seen: Observer) -> tuple[FittedCost, Link]:
  """Fitted to every second of the run's own steps."""
  kv_bytes = spec_of(one.run.model).kv_bytes_per_token(
      Dtypes.all(one.run.model.dtype).kv_bytes
  )
  cost = fit_cost(
      seen.steps[::2], seen.transfers, kv_bytes, shared=one.shared
  )
  return cost, fit_link(seen.transfers)


_FLAG = "--calibration"


def _of_model(
    one: Measured, known: Mapping[str, Calibration]
) -> Calibration | None:
  """The calibration for a run; None where none is given at all."""
  name, dtypes = spec_of(one.run.model).name, Dtypes.all(one.run.model.dtype)
  layouts = dict.fromkeys(pool.layout for pool in worker_pools(one.run))
  reasons: dict[str, None] = {}
  for each in known.values():
    told = [each.mismatch(name, layout, dtypes) for layout in layouts]
    if not any(told):
      return each
    reasons |= dict.fromkeys(reason for reason in told if reason)
  if not known:
    return None
  raise ConfigError([f"{_FLAG}: {one.folder}: {'; '.join(reasons)}"])


def served_again(one: Measured, cost: FittedCost, link: Link) -> Log:
  """A run's requests on the virtual clock, passes padded as they were."""
  costs = [dataclasses.replace(cost, padding=each) for each in one.paddings]
  return simulate_again(one.log, one.run, costs, link, *one.sizes)


def _again(one: Measured, cost: FittedCost, link: Link) -> RequestTable:
  return table_of(served_again(one, cost, link), one.run)


def _unbiased(cost: FittedCost, steps: Sequence[StepSeen]) -> FittedCost:
  """All prices times what makes the sum of the steps right."""
  share = sum(s.elapsed_ps for s in steps) / priced_ps(cost, steps).sum()
  return cost.scaled(share)


def _alike(runs: Sequence[Measured]) -> Iterator[list[Measured]]:
  """Runs that only repeat each other, by repeat; in the order they came."""
  left = list(runs)
  while left:
    alike = [one for one in left if one.run == left[0].run]
    left = [one for one in left if one.run != alike[0].run]
    yield sorted(alike, key=lambda one: one.repeat)


def _rates(
    run: Run, measured: Sequence[RequestTable], again: RequestTable
) -> Iterator[tuple[str, tuple[float, float]]]:
  """(median of the repeats, simulated) by name."""
  each, simulated = [summarize(t, run) for t in measured], summarize(again, run)
  for name in RATES:
    theirs = simulated.get(name)
    ours = [found[name] for found in each if found.get(name) is not None]
    if len(ours) == len(each) and theirs is not None:
      yield name, (float(np.median(ours)), theirs)
