"""Finished cells as reports take them."""

import dataclasses
from pathlib import Path

from pdjax import config
from pdjax.report.groups import ReportedRun
from pdjax.sweep import jsonfile


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finished:
  """A finished cell's folder under the name it has in this comparison."""

  label: str
  folder: Path
  slo: config.SLO

  def shown(self) -> "Shown":
    return Shown(
        label=self.label,
        folder=self.folder,
        summary=jsonfile.read(self.folder / "summary.json"),
        conditions=jsonfile.read(self.folder / "conditions.json"),
        config=jsonfile.read(self.folder / "config.json"),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shown(ReportedRun):
  """What reports say of a run, and where it is."""

  folder: Path
