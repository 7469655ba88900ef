"""Small JSON files beside weights, read with one clear line where they fail."""

import json
import pathlib
from typing import Any

from pdjax.models.unfit import unfit


def read_object(path: pathlib.Path) -> dict[str, Any]:
  """The object in a JSON file.

  Raises:
    ConfigError: there is no such file, or it holds something else.
  """
  try:
    found = json.loads(path.read_text(encoding="utf-8"))
  except (OSError, ValueError) as error:
    why = "cannot be read" if isinstance(error, OSError) else "is no JSON"
    raise unfit(path, f"{why} ({error})") from error
  if not isinstance(found, dict):
    raise unfit(path, "holds no object")
  return found
