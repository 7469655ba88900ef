"""Finished runs read back from their folders, for whatever looks at results."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pdjax import config, inputfile, schema
from pdjax.config import ConfigError
from pdjax.report.record import Record
from pdjax.results import written
from pdjax.sweep import jsonfile, runfiles
from pdjax.sweep.store import cells_of, runs_of

_READ = ("summary.json", "conditions.json", "config.json")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result(Record):
  """A finished run with what a reader may choose it by."""

  case: str = ""

  @property
  def run(self) -> config.Run:
    return self.asked

  def value(self, path: str) -> Any:
    """Of a field of the config, or of `case` and `repeat`."""
    own = {"case": self.case, "repeat": self.repeat}
    return own[path] if path in own else schema.value_at(self.run, path)


def results_in(given: str) -> tuple[list[Result], list[str]]:
  """The runs of a folder, and a line for each that is left out as damaged.

  Args:
    given: a run's folder, an experiment's, or that of a config with blocks.

  Raises:
    ConfigError: there is no such folder, or no run in it that can be read; one
      line if all were written by the same other version.
  """
  folder = Path(given)
  if reason := inputfile.folder_refusal(given):
    raise ConfigError([f"{given}: {reason}"])
  found, left_out = [], []
  for run in _runs_in(folder):
    wrong = runfiles.damage(run, by_content=False)
    try:
      found.append(_result(run) if not wrong else None)
    except ConfigError as error:
      wrong = "; ".join(error.errors)
    if wrong:
      left_out.append(f"{run}: {wrong}")
  results = [one for one in found if one]
  if not results:
    raise ConfigError([*written.outdated(given, left_out)] or left_out or [
        f"{given}: neither a finished run nor an experiment with one"
    ])
  return results, left_out


def _runs_in(folder: Path) -> list[Path]:
  """The folder itself, or the runs of an experiment or of its blocks."""
  if (folder / "config.json").is_file():
    return [folder]
  if found := runs_of(folder):
    return _in_order(folder, found)
  blocks = sorted(path for path in folder.iterdir() if path.is_dir())
  return [run for block in blocks for run in _in_order(block, runs_of(block))]


def _in_order(experiment: Path, runs: Sequence[Path]) -> list[Path]:
  """As the experiment's config has its cells; others after them, by name."""
  ids = [id[:12] for id in cells_of(experiment)]

  def place(run: Path) -> tuple[int, str]:
    id = run.name[-12:]
    return (ids.index(id) if id in ids else len(ids), run.name)

  return sorted(runs, key=place)


def _result(folder: Path) -> Result:
  files = {name: jsonfile.read_object(folder / name) for name in _READ}
  if empty := [name for name, tree in files.items() if not tree]:
    raise ConfigError([f"{', '.join(empty)} cannot be read"])
  if other := written.refusal(
      folder, asked=files["config.json"], summary=files["summary.json"],
      conditions=files["conditions.json"],
  ):
    raise ConfigError([other])
  run, _ = schema.read(files["config.json"])
  status = runfiles.status_of(folder)
  return Result(
      label=str(status.get("label") or folder.name),
      folder=folder,
      summary=files["summary.json"],
      conditions=files["conditions.json"],
      config=files["config.json"],
      asked=run,
      case=str(status.get("case", "")),
      repeat=int(status.get("repeat") or 0),
  )
