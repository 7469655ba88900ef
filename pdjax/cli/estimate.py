"""How long the cells that are not done will take, from runs that are there."""

import dataclasses
import math
import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pdjax.cli.remaining import about
from pdjax.sweep import runfiles
from pdjax.sweep.cells import Cell

_Kind = tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Seen:
  """A cell, whether it is to be run, and a run of it, stale ones too."""

  cell: Cell
  due: bool
  run: Path | None


def estimate(seen: Sequence[Seen]) -> str:
  """A line for the reader; empty if nothing is to be done.

  A cell takes what its own stale run took, else the mean of runs with the same
  backend and strategy, else of those with the same backend. Simulated cells
  share the cores, measured ones take turns.
  """
  due = [one for one in seen if one.due]
  if not due:
    return ""
  cells = f"{len(due)} cell" + ("" if len(due) == 1 else "s")
  took = {one.cell.id: t for one in seen if (t := _seconds(one.run))}
  means = _means(seen, took)
  expected = {one.cell.id: _expected(one.cell, took, means) for one in due}
  if None in expected.values():
    return f"no estimate for {cells} to run: no run to judge by yet"
  cores = len(os.sched_getaffinity(0))
  simulated = [_known(expected, one) for one in due if not _measured(one.cell)]
  measured = [_known(expected, one) for one in due if _measured(one.cell)]
  wide = min(cores, len(simulated)) or 1
  seconds = math.fsum(simulated) / wide + math.fsum(measured)
  runs = f"{len(took)} run" + ("" if len(took) == 1 else "s")
  return f"about {about(seconds)} for {cells} to run, judging by {runs}"


def _known(expected: Mapping[str, float | None], one: Seen) -> float:
  return expected[one.cell.id] or 0.0


def _expected(
    cell: Cell, took: Mapping[str, float], means: Mapping[_Kind, float]
) -> float | None:
  own = took.get(cell.id)
  return own or next(filter(None, map(means.get, _kinds(cell))), None)


def _means(
    seen: Iterable[Seen], took: Mapping[str, float]
) -> dict[_Kind, float]:
  """Mean seconds of runs, by kind."""
  of_kind: dict[_Kind, list[float]] = {}
  for one in seen:
    if one.cell.id in took:
      for kind in _kinds(one.cell):
        of_kind.setdefault(kind, []).append(took[one.cell.id])
  return {kind: statistics.fmean(all) for kind, all in of_kind.items()}


def _kinds(cell: Cell) -> tuple[_Kind, ...]:
  """What a cell's time depends on most, finest first."""
  backend = cell.run.backend.kind
  return (backend, cell.run.strategy.kind), (backend,)


def _measured(cell: Cell) -> bool:
  return cell.run.backend.kind == "jax"


def _seconds(run: Path | None) -> float | None:
  seconds = runfiles.status_of(run).get("seconds") if run else None
  return seconds if isinstance(seconds, float) and seconds > 0 else None
