"""Figures of finished cells: latency distributions.

Reading the logs of a long run takes longer than all else at the end of an
experiment, so figures that were made from the very same runs stay: a file
beside them, `made_from.json`, says what they were made from.
"""

import dataclasses
import hashlib
import importlib.metadata
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pdjax import schema
from pdjax.cli.finished import Finished, Shown
from pdjax.cli.uncollected import uncollected
from pdjax.report import labels
from pdjax.report.groups import groups_of
from pdjax.report.heading import workload_words
from pdjax.report.plots import LatencySeries, latency_cdfs
from pdjax.sweep import jsonfile, runfiles, temporary

_CURVES = 7
"""In a figure at most."""
_MADE_FROM = "made_from.json"


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Figure:
  """Runs that one figure shows, with the names they have in it."""

  runs: Sequence[Shown]
  names: Sequence[str]
  shared: str
  """Words left out of all names."""


def draw(name: str, finished: Sequence[Finished], folder: Path) -> None:
  """Latency distributions, a figure for each block of the tables.

  A block of more runs than can be told apart has several. Figures of an
  earlier comparison are removed.

  Args:
    name: the experiment's.
    folder: for figures alone.

  Raises:
    OSError: they cannot be written; those there were are whole.
  """
  made_from = _made_from(name, finished)
  if _are_current(folder, made_from):
    return
  folder.mkdir(parents=True, exist_ok=True)
  temporary.sweep_up(folder)
  beside = temporary.make(folder, "figures")
  try:
    _draw(name, finished, beside)
    drawn = runfiles.listed(beside)
    for file in drawn:
      os.replace(beside / file, folder / file)
  finally:
    shutil.rmtree(beside, ignore_errors=True)
  for old in folder.glob("latency*"):
    if old.name not in drawn:
      old.unlink(missing_ok=True)
  told = {"made_from": made_from, "files": drawn}
  jsonfile.write(folder / _MADE_FROM, told)


def _made_from(name: str, finished: Sequence[Finished]) -> str:
  """SHA-256 of all that the figures show: not of when and where it was run."""
  facts = {
      "name": name,
      "runs": [[one.label, _results(one.folder)] for one in finished],
      "matplotlib": importlib.metadata.version("matplotlib"),
  }
  return hashlib.sha256(jsonfile.canonical(facts).encode()).hexdigest()


def _results(folder: Path) -> dict[str, Any]:
  """A run's files by content, but for what tells dates and hosts."""
  files = runfiles.status_of(folder)["files"]
  return {name: files[name] for name in files if name != "provenance.json"}


def _are_current(folder: Path, made_from: str) -> bool:
  told = jsonfile.read_object(folder / _MADE_FROM)
  files = told.get("files")
  return told.get("made_from") == made_from and not runfiles.differing(
      folder, files, by_content=True
  )


def _draw(name: str, finished: Sequence[Finished], folder: Path) -> None:
  slos = {one.folder: one.slo for one in finished}
  figures = list(_figures([one.shown() for one in finished]))
  names = (name for figure in figures for name in figure.names)
  styles = {name: place for place, name in enumerate(dict.fromkeys(names))}
  for number, figure in enumerate(figures, start=1):
    stem = folder / (f"latency_{number}" if len(figures) > 1 else "latency")
    slo = slos[figure.runs[0].folder]
    with uncollected():
      series = [
          _series(run, short, styles[short])
          for run, short in zip(figure.runs, figure.names, strict=True)
      ]
    latency_cdfs(series, slo, stem, _title(name, figure))


def _figures(runs: Sequence[Shown]) -> Iterator[_Figure]:
  for group in groups_of(runs):
    names, shared = labels.shortened([run.label for run in group])
    for start in range(0, len(group), _CURVES):
      shown = slice(start, start + _CURVES)
      yield _Figure(runs=group[shown], names=names[shown], shared=shared)


def _title(name: str, figure: _Figure) -> str:
  words = workload_words(figure.runs[0].conditions)
  return "; ".join(filter(None, (name, words, figure.shared)))


def _series(run: Shown, name: str, style: int) -> LatencySeries:
  from pdjax.eventfile import read_log
  from pdjax.metrics.requests import table_of

  assert run.config is not None
  asked = schema.run_from_tree(run.config)
  table = table_of(read_log(run.folder / "events.parquet"), asked).measured()
  return LatencySeries.of(
      name,
      run.summary["kind"],
      table,
      flagged=run.summary["doubtful"],
      style=style,
  )
