"""The files of a finished run, and whether they are as they were written.

A run's `status.json` lists its files with their sizes and hashes. So a disk
that was full, a copy that was cut short or an editor's slip is seen before the
run is taken for a result.
"""

from pathlib import Path
from typing import Any

from pdjax import inputfile
from pdjax.sweep import jsonfile

STATUS = "status.json"
LOG = "log.txt"
"""What a run's process wrote to its error output; not a part of the result."""
_OF_RUNS = (
    "attribution.json", "conditions.json", "config.json", "events.parquet",
    "provenance.json", "requests.parquet", STATUS, "summary.json",
    "tokens.parquet",
)
_OF_EXPERIMENTS = (
    "experiment.json", "report.html", "search.json", "summary.csv",
    "summary.json",
)
_NAMES = {"cell", "label", "repeat", "files"}


def folder_of(file: Path) -> Path | None:
  """The folder of results that a file belongs to, by its name; None of
  others."""
  folder = file.parent
  for names, mark in (
      (_OF_RUNS, "config.json"), (_OF_EXPERIMENTS, "experiment.json"),
  ):
    if file.name in names and (folder / mark).is_file():
      return folder
  return None


def status_of(folder: Path) -> dict[str, Any]:
  """What a run says about itself; empty if that cannot be read."""
  return jsonfile.read_object(folder / STATUS)


def listed(folder: Path) -> dict[str, dict[str, Any]]:
  """Size and hash of every file beside the status, for the status."""
  return {
      path.name: {
          "bytes": path.stat().st_size,
          "sha256": inputfile.sha256_of(path),
      }
      for path in sorted(folder.iterdir())
      if path.is_file() and path.name != STATUS
  }


def damage(folder: Path, *, by_content: bool) -> str:
  """What is wrong with a finished run's files, empty if nothing.

  Args:
    by_content: reads every file; otherwise sizes are compared.
  """
  status = status_of(folder)
  if not _NAMES <= status.keys():
    return f"{STATUS} is not as it was written"
  return differing(folder, status["files"], by_content=by_content)


def differing(folder: Path, files: Any, *, by_content: bool) -> str:
  """The first file that is not as `listed`, in words; empty if none."""
  if not isinstance(files, dict):
    return f"{STATUS} is not as it was written"
  for name, written in files.items():
    try:
      wrong = _difference(folder / name, written, by_content)
    except (OSError, KeyError, TypeError) as error:
      wrong = f"cannot be checked ({type(error).__name__}: {error})"
    if wrong:
      return f"{name} {wrong}"
  return ""


def _difference(path: Path, written: dict[str, Any], by_content: bool) -> str:
  if not path.is_file():
    return "is missing"
  size = path.stat().st_size
  if size != written["bytes"]:
    return f"has {size} bytes of {written['bytes']}"
  if by_content and inputfile.sha256_of(path) != written["sha256"]:
    return "is not as it was written"
  return ""
