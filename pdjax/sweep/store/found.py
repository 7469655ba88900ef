"""What is found of a cell, and whether it may be used."""

import dataclasses
from pathlib import Path
from typing import Any

from pdjax.sweep import runfiles
from pdjax.sweep.cells import Cell


@dataclasses.dataclass(frozen=True)
class Found:
  """What there is of a cell."""

  run: Path | None
  """Its finished run, if that may be used."""
  reason: str
  """`done`, `new`, `stale: ...` or `damaged: ...`."""


@dataclasses.dataclass(frozen=True)
class Failure:
  """How a cell failed before."""

  folder: Path
  message: str


def unusable(
    run: Path, made_by: dict[str, str], cell: Cell | None = None
) -> str:
  """Why a run cannot be used, as that of a cell if one is given."""
  if damage := runfiles.damage(run, by_content=True):
    return f"damaged: {damage}"
  status = runfiles.status_of(run)
  if cell and status.get("cell") != cell.id:
    return f"damaged: {runfiles.STATUS} names another cell"
  other = changed(status.get("made_by"), made_by)
  return f"stale: {', '.join(other)} changed" if other else ""


def changed(then: Any, now: dict[str, str]) -> list[str]:
  """What made a result and is another now, in words."""
  then = then if isinstance(then, dict) else {}
  return [
      name.removesuffix("_sha256").replace("_", " ")
      for name, value in now.items()
      if then.get(name) != value
  ]
