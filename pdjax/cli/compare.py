"""Finished cells side by side, as text."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from pdjax import config
from pdjax.report.groups import ReportedRun
from pdjax.report.tables import comparison
from pdjax.sweep import jsonfile


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finished:
  """A finished cell's folder under the name it has in this comparison."""

  label: str
  folder: Path
  slo: config.SLO


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shown(ReportedRun):
  """What reports say of a run, and where it is."""

  folder: Path


def tables(finished: Sequence[Finished]) -> str:
  """The comparison as text."""
  return comparison([shown(one) for one in finished])


def shown(one: Finished) -> Shown:
  """A finished cell as reports take it."""
  return Shown(
      label=one.label,
      folder=one.folder,
      summary=jsonfile.read(one.folder / "summary.json"),
      conditions=jsonfile.read(one.folder / "conditions.json"),
      config=jsonfile.read(one.folder / "config.json"),
  )
