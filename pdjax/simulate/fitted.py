"""Scalars fitted to published measurements, by family of chips.

`experiments/fidelity_table.py` makes the file; docs/fidelity.md shows how far
prices are off with them. Scalars of single engines are left out here: which
engine is simulated is the config's business, and ours captures its programs.
"""

import dataclasses
import functools
import importlib.resources
import json
from typing import Any

from pdjax.config import ConfigError
from pdjax.simulate.chip import Chip
from pdjax.simulate.scalars import Scalars


@dataclasses.dataclass(frozen=True, slots=True)
class Fitted:
  """One family's scalars, and what they rest on."""

  scalars: Scalars
  hardware: str
  fitted_on: str
  tested_readings: int
  tested_median_error: float
  tested_p90_error: float

  @property
  def accuracy(self) -> str:
    return (
        f"fitted to published times of {self.hardware}; on"
        f" {self.tested_readings} others {100 * self.tested_median_error:.1f} %"
        f" off in the median, {100 * self.tested_p90_error:.0f} % at p90"
    )


def fitted_for(chip: Chip) -> Fitted:
  """The scalars of the chip's family.

  Raises:
    ConfigError: nothing was fitted to such chips.
  """
  by_family = _sets()
  if chip.family not in by_family:
    raise ConfigError([
        f"backend.costs: nothing is fitted to chips like {chip.name!r}; there"
        f" are fits for the families {', '.join(by_family)}; 'analytical' needs"
        " none"
    ])
  return by_family[chip.family]


@functools.cache
def _sets() -> dict[str, Fitted]:
  file = importlib.resources.files("pdjax.simulate") / "fitted.json"
  return {
      family: _fitted(entry)
      for entry in json.loads(file.read_text())
      for family in entry["families"]
  }


def _fitted(entry: dict[str, Any]) -> Fitted:
  return Fitted(
      scalars=Scalars(**entry["scalars"]),
      **{
          field.name: entry[field.name]
          for field in dataclasses.fields(Fitted)
          if field.name != "scalars"
      },
  )
