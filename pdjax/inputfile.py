"""Files that a config names: a plain file that can be read, or why it is not.
Folders of results likewise.

Unlike `Path.is_file` nothing here raises, whatever the name.
"""

import hashlib
import os
import stat
from pathlib import Path

from pdjax.fieldtypes import nearest

MISSING = "no such file"
"""How a refusal begins where there is nothing at all."""

EMPTY = "an empty name, as of a shell variable that is not set"
"""As a path it would be the current folder, which nobody has named."""


def path_of(name: str) -> Path:
  """The path with `~` expanded where that is a home."""
  path = Path(name)
  try:
    return path.expanduser()
  except RuntimeError:  # no such user: an odd name of a file
    return path


READ_WHOLE_BYTES = 64 * 2**20
"""Most of a file that somebody wrote and that is read in one go."""


def refusal(name: str, most_bytes: int | None = None) -> str | None:
  """Why a file cannot be read, in words; None if it can be, and has no more
  than so many bytes."""
  if not name.strip():
    return EMPTY
  path = path_of(name)
  try:
    found = path.stat()
  except FileNotFoundError:
    return _missing(path)
  except (OSError, ValueError) as error:
    return _reason(error)
  if stat.S_ISDIR(found.st_mode):
    return "is a folder, not a file"
  if not stat.S_ISREG(found.st_mode):
    return "is no plain file"
  if most_bytes is not None and found.st_size > most_bytes:
    return (
        f"has {found.st_size / 2**20:.0f} MiB, more than the"
        f" {most_bytes / 2**20:.0f} MiB of any such file"
    )
  return None if os.access(path, os.R_OK) else "may not be read"


def folder_refusal(name: str | Path) -> str | None:
  """Why there is no folder to be read, in words; None if there is one."""
  if not str(name).strip():
    return EMPTY
  folder = Path(name)
  try:
    mode = folder.stat().st_mode
  except FileNotFoundError:
    return _no_folder(folder)
  except (OSError, ValueError) as error:
    return f"no folder: {_reason(error)}"
  if stat.S_ISDIR(mode):
    return None
  wanted = str(folder.parent)
  return f"is a file, not a folder of results; did you mean {wanted!r}?"


def sha256_of(path: Path) -> str:
  """Of a file's content."""
  with path.open("rb") as file:
    return hashlib.file_digest(file, "sha256").hexdigest()


def version(name: str) -> tuple:
  """Tells a file from another of that name, and from itself changed."""
  path = path_of(name).absolute()
  try:
    found = path.stat()
  except (OSError, ValueError):
    return (path,)
  return (path, found.st_ino, found.st_mtime_ns, found.st_size)


def _reason(error: OSError | ValueError) -> str:
  return str(getattr(error, "strerror", None) or error)


def _no_folder(folder: Path) -> str:
  try:
    others = [path.name for path in folder.parent.iterdir() if path.is_dir()]
  except OSError:
    return "no such folder"
  close = nearest(folder.name, others)
  wanted = f"; did you mean {str(folder.parent / close)!r}?" if close else ""
  return f"no such folder{wanted}"


def _missing(path: Path) -> str:
  folder = path.parent
  try:
    others = sorted({*os.listdir(folder)} - {path.name})
    close = nearest(path.name, others)
  except OSError:
    return f"{MISSING}; there is no folder {str(folder)!r} either"
  wanted = f"; did you mean {str(folder / close)!r}?" if close else ""
  return f"{MISSING}{wanted}"
