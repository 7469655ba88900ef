"""Finished cells side by side: the tables, and the figures beside them."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from pdjax.cli.plan import Part
from pdjax.cli.uncollected import uncollected
from pdjax.report import labels
from pdjax.report.groups import ReportedRun, groups_of
from pdjax.report.heading import workload_words
from pdjax.report.plots import LatencySeries, latency_cdfs
from pdjax.report.tables import comparison
from pdjax.sweep import jsonfile

_CURVES = 7
"""In a figure at most."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finished:
  """A finished cell's folder under the name it has in this comparison."""

  label: str
  folder: Path


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Figure:
  """Runs that one figure shows, with the names they have in it."""

  runs: Sequence["_Run"]
  names: Sequence[str]
  shared: str
  """Words left out of all names."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Run(ReportedRun):
  folder: Path


def tables(finished: Sequence[Finished]) -> str:
  """The comparison as text."""
  return comparison([_reported(one) for one in finished])


def figures(part: Part, finished: Sequence[Finished]) -> list[Path]:
  """Latency distributions, a figure for each block of the tables.

  A block of more runs than can be told apart has several. Figures of an
  earlier comparison are removed.

  Returns:
    The files written.
  """
  drawn = list(_figures([_reported(one) for one in finished]))
  names = (name for figure in drawn for name in figure.names)
  styles = {name: place for place, name in enumerate(dict.fromkeys(names))}
  slos = {cell.id[:12]: cell.run.slo for cell in part.cells.cells}
  folder = part.store.folder / "figures"
  paths: list[Path] = []
  for number, figure in enumerate(drawn, start=1):
    stem = folder / (f"latency_{number}" if len(drawn) > 1 else "latency")
    slo = slos[figure.runs[0].folder.name[-12:]]
    with uncollected():
      series = [
          _series(run, name, styles[name])
          for run, name in zip(figure.runs, figure.names, strict=True)
      ]
    paths += latency_cdfs(series, slo, stem, _title(part.name, figure))
  for old in set(folder.glob("latency*")) - set(paths):
    old.unlink(missing_ok=True)
  return paths


def _reported(one: Finished) -> _Run:
  return _Run(
      label=one.label,
      folder=one.folder,
      summary=jsonfile.read(one.folder / "summary.json"),
      conditions=jsonfile.read(one.folder / "conditions.json"),
      config=jsonfile.read(one.folder / "config.json"),
  )


def _figures(runs: Sequence[_Run]) -> Iterator[_Figure]:
  for group in groups_of(runs):
    names, shared = labels.shortened([run.label for run in group])
    for start in range(0, len(group), _CURVES):
      shown = slice(start, start + _CURVES)
      yield _Figure(runs=group[shown], names=names[shown], shared=shared)


def _title(name: str, figure: _Figure) -> str:
  words = workload_words(figure.runs[0].conditions)
  return "; ".join(filter(None, (name, words, figure.shared)))


def _series(run: _Run, name: str, style: int) -> LatencySeries:
  from pdjax.eventfile import read_log
  from pdjax.metrics.requests import request_table

  assert run.config is not None
  first_token = run.config["strategy"]["first_token"] or "at_prefill"
  table = request_table(read_log(run.folder / "events.parquet"), first_token)
  return LatencySeries.of(
      name,
      run.summary["kind"],
      table,
      flagged=run.summary["doubtful"],
      style=style,
  )
