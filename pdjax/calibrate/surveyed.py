"""What the surveys of engines found, to be fitted together."""

import dataclasses
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pdjax.calibrate.calibration import calibration
from pdjax.calibrate.observe import StepSeen, TransferSeen
from pdjax.simulate.fittedcost import Padding

FILE = "surveyed.pickle"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Surveyed:
  """Of one engine: what it did and what it is."""

  steps: list[StepSeen]
  transfers: list[TransferSeen]
  padding: Padding
  shared: bool
  """Its workers were parts of one host, or of one device."""
  kv_bytes_per_token: int
  model: str
  tp: int
  made_by: dict[str, Any]

  def write(self, folder: Path) -> None:
    """For the process that fits; it is gone with the folder."""
    (folder / FILE).write_bytes(pickle.dumps(self))


def read(folder: Path) -> Surveyed | None:
  """What another process of this command wrote; None if it did not."""
  path = folder / FILE
  return pickle.loads(path.read_bytes()) if path.exists() else None


def together(
    found: Sequence[Surveyed], labels: Sequence[str]
) -> dict[str, Any]:
  """The calibration of engines of one model and layout.

  The sizes are the first one's: engines of other strategies pad to others.
  """
  first = found[0]
  notes = dict.fromkeys(n for one in found for n in one.made_by["notes"])
  return calibration(
      [step for one in found for step in one.steps],
      [moved for one in found for moved in one.transfers],
      kv_bytes_per_token=first.kv_bytes_per_token,
      padding=first.padding,
      model=first.model,
      tp=first.tp,
      made_by=first.made_by | {"notes": [*notes], "engines": [*labels]},
      shared=any(one.shared for one in found),
  )
