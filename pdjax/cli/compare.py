"""Finished cells side by side: the tables, and the figures beside them."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from pdjax.cli.plan import Part
from pdjax.cli.uncollected import uncollected
from pdjax.report.plots import LatencySeries, latency_cdfs
from pdjax.report.tables import ReportedRun, comparison
from pdjax.sweep import jsonfile

_LONGEST_LABEL = 19
"""In characters; longer ones are numbered and listed below the table."""
_CURVES = 7
"""In a figure at most."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finished:
  """A finished cell's folder under the name it has in this comparison."""

  label: str
  folder: Path


def tables(finished: Sequence[Finished]) -> str:
  """The comparison as text."""
  long = any(len(one.label) > _LONGEST_LABEL for one in finished)
  numbered = [
      f"{number}. {one.label}" if long else one.label
      for number, one in enumerate(finished, start=1)
  ]
  runs = [
      ReportedRun(
          label=label,
          summary=jsonfile.read(one.folder / "summary.json"),
          conditions=jsonfile.read(one.folder / "conditions.json"),
      )
      for label, one in zip(numbered, finished, strict=True)
  ]
  legend = "\n\n" + "\n".join(numbered) if long else ""
  return comparison(runs) + legend


def figures(part: Part, finished: Sequence[Finished]) -> list[Path]:
  """Latency distributions of all cells, a few to a figure.

  Returns:
    The files written.
  """
  paths = []
  slo = part.cells.cells[0].run.slo
  for start in range(0, len(finished), _CURVES):
    shown = finished[start : start + _CURVES]
    suffix = f"_{start // _CURVES + 1}" if len(finished) > _CURVES else ""
    stem = part.store.folder / "figures" / f"latency{suffix}"
    with uncollected():
      series = [_series(one) for one in shown]
    paths += latency_cdfs(series, slo, stem, part.name)
  return paths


def _series(one: Finished) -> LatencySeries:
  from pdjax.eventfile import read_log
  from pdjax.metrics.requests import request_table

  config = jsonfile.read(one.folder / "config.json")
  summary = jsonfile.read(one.folder / "summary.json")
  first_token = config["strategy"]["first_token"] or "at_prefill"
  table = request_table(read_log(one.folder / "events.parquet"), first_token)
  return LatencySeries.of(
      one.label, summary["kind"], table, bool(summary["flags"])
  )
