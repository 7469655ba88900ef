"""Folders in which runs are written before they take their place.

Their names say whose they are: what a killed process of this machine left is
removed by the next one that works on the same experiment.
"""

import contextlib
import os
import platform
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

_PREFIX = ".tmp-"


def make(parent: Path, name: str) -> Path:
  """A new folder in `parent`."""
  folder = parent / f"{_PREFIX}{name}-{_mine()}-{secrets.token_hex(4)}"
  folder.mkdir()
  return folder


@contextlib.contextmanager
def all_or_none(parent: Path) -> Iterator[Path]:
  """A new folder whose files go to `parent` when all of them are written.

  Renaming needs no room, so a full disk leaves none of them, and no half of
  one.
  """
  made = make(parent, "new")
  try:
    yield made
    for path in sorted(made.iterdir()):
      os.replace(path, parent / path.name)
  finally:
    shutil.rmtree(made, ignore_errors=True)


def refusal(folder: Path) -> str | None:
  """Why nothing can be made in a folder, which need not be there yet.

  It is tried, as no permission tells it of every kind of disk: the folders that
  are missing are made in a temporary one. Nothing is left.
  """
  place = folder.absolute()
  while not os.path.lexists(place):
    place = place.parent
  missing = folder.absolute().relative_to(place).parts
  try:
    made = make(place, "try")
    try:
      within = (name for name in missing if name != os.pardir)
      made.joinpath(*within).mkdir(parents=True, exist_ok=True)
    finally:
      shutil.rmtree(made)
  except (OSError, ValueError) as error:
    reason = getattr(error, "strerror", None) or str(error)
    return f"nothing can be made in {place}: {reason}"
  return None


def is_temporary(path: Path) -> bool:
  """Whether something in a folder of results is no result."""
  return path.name.startswith(_PREFIX)


def remove_mine(parent: Path) -> None:
  """Removes what this process has not finished."""
  for folder in parent.glob(f"{_PREFIX}*-{_mine()}-*"):
    shutil.rmtree(folder, ignore_errors=True)


def sweep_up(parent: Path) -> None:
  """Removes what processes of this machine left when they were killed."""
  for path in parent.glob(f"{_PREFIX}*-{platform.node()}-*"):
    if not _alive(path.name.split("-")[-2]):
      shutil.rmtree(path, ignore_errors=True)


def _mine() -> str:
  return f"{platform.node()}-{os.getpid()}"


def _alive(pid: str) -> bool:
  try:
    os.kill(int(pid), 0)
  except (ProcessLookupError, OverflowError):
    return False
  except (ValueError, PermissionError):
    return True
  return True
