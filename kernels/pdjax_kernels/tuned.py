"""Block sizes that were measured on a device: one JSON file a kind of device.

`benchmarks/kernels.py` writes the files. An entry says for one kernel and one
`Spec` which blocks were fastest there; whatever has none runs on a guess.
"""

import dataclasses
import functools
import json
import re
from pathlib import Path
from typing import Any, TypeVar

from pdjax_kernels.spec import Spec

FOLDER = Path(__file__).parent / "tuned"

Blocks = TypeVar("Blocks")


def path(device: str, folder: Path | None = None) -> Path:
  """The file of a device kind.

  >>> path("NVIDIA H200").name
  'nvidia_h200.json'
  """
  name = re.sub(r"[^a-z0-9]+", "_", device.lower()).strip("_")
  return (folder or FOLDER) / f"{name}.json"


def blocks(
    kernel: str, kind: type[Blocks], spec: Spec, device: str | None
) -> Blocks | None:
  """The blocks measured for a kernel's work on a kind of device, if any."""
  if device is None:
    return None
  found = _entries(path(device)).get(key(kernel, kind, spec))
  return None if found is None else kind(**found)


def key(kernel: str, kind: type, spec: Spec) -> str:
  """What an entry is found by."""
  values = [str(value) for value in dataclasses.asdict(spec).values()]
  return " ".join([kernel, kind.__name__, *values])


def write(
    device: str, entries: dict[str, dict[str, Any]], conditions: dict[str, Any],
    folder: Path | None = None,
) -> Path:
  """Stores a device's entries, `key` -> fields of the blocks."""
  file = path(device, folder)
  file.parent.mkdir(parents=True, exist_ok=True)
  table = {"device": device, "conditions": conditions, "entries": entries}
  file.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n")
  _entries.cache_clear()
  return file


@functools.cache
def _entries(file: Path) -> dict[str, dict[str, Any]]:
  if not file.is_file():
    return {}
  return json.loads(file.read_text())["entries"]
