"""What is in an experiment's folder, as its readers see it."""

import contextlib
import os
from pathlib import Path

from pdjax.sweep import jsonfile, temporary


def runs_of(folder: Path, ending: str = "") -> list[Path]:
  """Folders of the finished runs of an experiment, by name.

  Args:
    ending: of the names that are asked for. Every cell looks for its own run
      several times, so the others must cost next to nothing.
  """
  with contextlib.suppress(OSError), os.scandir(folder / "runs") as entries:
    named = (entry for entry in entries if entry.name.endswith(ending))
    paths = [Path(entry) for entry in named if entry.is_dir()]
    return sorted(path for path in paths if not temporary.is_temporary(path))
  return []


def cells_of(folder: Path) -> list[str]:
  """Ids of an experiment's cells, in its config's order, as far as it is told.

  What `experiment.json` has in no such shape is left out.
  """
  cells = jsonfile.read_object(folder / "experiment.json").get("cells")
  told = cells if isinstance(cells, list) else []
  ids = [cell.get("cell") for cell in told if isinstance(cell, dict)]
  return [id for id in ids if isinstance(id, str)]
