"""A folder that `pdjax.models.convert` wrote: an Orbax checkpoint, described.

    pdjax.json        sizes of the model, type of its numbers, every file
    weights/          the Orbax checkpoint, one array a declared weight
    tokenizer.json …  where the source had a tokenizer

The description is written last and lists the checkpoint's files with their
sizes, so that a copy that is not whole is found without reading it. This
module reads the description; `pdjax.models.orbax_store` the arrays.
"""

import functools
import json
import pathlib
from collections.abc import Mapping

from pdjax.models import spec_json
from pdjax.models.jsonfile import read_object
from pdjax.models.spec import ModelSpec
from pdjax.models.unfit import unfit

DESCRIPTION = "pdjax.json"
WEIGHTS = "weights"
_FORMAT = 1


class OrbaxFolder:
  """An open folder.

  Raises:
    ConfigError: its description cannot be read, or files are not whole.
  """

  def __init__(self, path: pathlib.Path):
    self.path = path
    description = path / DESCRIPTION
    said = read_object(description)
    if said.get("format") != _FORMAT:
      raise unfit(
          description,
          f"is of format {said.get('format')!r}, this pdjax reads {_FORMAT};"
          " convert the weights again",
      )
    try:
      self.spec = spec_json.parsed(said["spec"])
      self.dtype: str = said["dtype"]
      sizes = {str(name): int(size) for name, size in said["files"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
      raise unfit(
          description, f"is damaged ({error!r}); convert the weights again"
      ) from error
    _check_files(path, sizes)
    self._names = tuple(sorted(sizes))

  @property
  def weights(self) -> pathlib.Path:
    """The Orbax checkpoint."""
    return self.path / WEIGHTS

  @property
  def files(self) -> tuple[pathlib.Path, ...]:
    """What says what the model computes; tokenizers do not."""
    names = (DESCRIPTION, *self._names)
    return tuple(self.path / name for name in names)

  def check(self, spec: ModelSpec) -> None:
    """Compares the sizes with the model they are to be loaded as.

    Raises:
      ConfigError: a line for each difference.
    """
    lines = self.spec.differences(spec)
    if lines:
      raise unfit(self.path, *lines)


@functools.lru_cache(maxsize=1)
def opened(path: pathlib.Path) -> OrbaxFolder:
  """The folder, its files compared once a process."""
  return OrbaxFolder(path)


def describe(folder: pathlib.Path, spec: ModelSpec, dtype: str) -> None:
  """Writes the description of the checkpoint in a folder."""
  files = sorted(
      path for path in (folder / WEIGHTS).rglob("*") if path.is_file()
  )
  said = {
      "format": _FORMAT,
      "spec": spec_json.plain(spec),
      "dtype": dtype,
      "files": {
          path.relative_to(folder).as_posix(): path.stat().st_size
          for path in files
      },
  }
  (folder / DESCRIPTION).write_text(json.dumps(said, indent=2))


def _check_files(path: pathlib.Path, sizes: Mapping[str, int]) -> None:
  for name, size in sizes.items():
    file = path / name
    found = file.stat().st_size if file.is_file() else None
    if found != size:
      has = "is missing" if found is None else f"has {found} of {size} bytes"
      raise unfit(file, f"{has}; convert the weights again")
