"""JSON files that are always whole: written beside, then renamed.

Keys are sorted and NaN and Infinity are refused, so equal values are equal
bytes and every reader can read them.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any


def canonical(value: Any) -> str:
  """The one text of a JSON value, for hashing."""
  return json.dumps(
      value, sort_keys=True, separators=(",", ":"), allow_nan=False
  )


def write_text(path: Path, text: str) -> None:
  """Replaces a file at once; readers see the old text or the new."""
  handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
  try:
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
      file.write(text)
    os.chmod(temporary, 0o644)  # mkstemp makes it private
    os.replace(temporary, path)
  except BaseException:
    Path(temporary).unlink(missing_ok=True)
    raise


def write(path: Path, value: Any) -> None:
  """Replaces a JSON file at once."""
  text = json.dumps(value, indent=2, sort_keys=True, allow_nan=False)
  write_text(path, text + "\n")


def read(path: Path) -> Any:
  """The value of a JSON file, None if it cannot be read or is not JSON."""
  try:
    return json.loads(path.read_text(encoding="utf-8"))
  except (OSError, ValueError, RecursionError):
    return None


def read_object(path: Path) -> dict[str, Any]:
  """A JSON object, empty if the file holds anything else or is not there."""
  value = read(path)
  return value if isinstance(value, dict) else {}
