"""Finished cells as reports take them."""

import dataclasses
from pathlib import Path

from pdjax import config
from pdjax.cli.folders import record_of
from pdjax.report.record import Record


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finished:
  """A finished cell's folder under the name it has in this comparison."""

  label: str
  folder: Path
  slo: config.SLO

  def shown(self) -> Record:
    return dataclasses.replace(record_of(self.folder), label=self.label)
