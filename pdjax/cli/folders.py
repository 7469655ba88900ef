"""Folders of results as reports read them: an experiment's, or one run's."""

import dataclasses
from pathlib import Path
from typing import Any

from pdjax import inputfile, schema
from pdjax.config import ConfigError
from pdjax.report.record import Failed, Record
from pdjax.report.searched import Search, search_of
from pdjax.results import written
from pdjax.sweep import jsonfile, runfiles
from pdjax.sweep.store import cells_of, runs_of

_READ = ("config", "summary", "conditions", "provenance")
"""Files of a run that a report reads."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Results:
  """What stands in a folder."""

  folder: Path
  name: str
  question: str = ""
  records: tuple[Record, ...] = ()
  failed: tuple[Failed, ...] = ()
  left_out: tuple[str, ...] = ()
  """A line for each damaged run; on the page it is among the failed ones."""
  outdated: tuple[str, ...] = ()
  """A line, where another version wrote all that there is."""
  search: Search | None = None
  single: bool = False
  """Whether the folder is that of one run."""


def results_of(folder: Path) -> list[Results]:
  """Of a run, of an experiment, or of each experiment in a folder.

  Raises:
    ConfigError: there are no results, or they cannot be read.
  """
  if reason := inputfile.folder_refusal(folder):
    raise ConfigError([f"{folder}: {reason}"])
  if _is_run(folder):
    record = record_of(folder)
    return [Results(
        folder=folder, name=record.label, records=(record,), single=True
    )]
  if _is_experiment(folder):
    return [_experiment(folder)]
  inside = sorted(path for path in folder.iterdir() if _is_experiment(path))
  if not inside:
    raise ConfigError([
        f"{folder}: no results; expected the folder of an experiment, with"
        " experiment.json, or of one run, with config.json and summary.json"
    ])
  return [_experiment(path) for path in inside]


def _is_run(folder: Path) -> bool:
  return all(
      (folder / name).is_file()
      for name in ("config.json", "summary.json", "conditions.json")
  )


def _is_experiment(folder: Path) -> bool:
  return (folder / "experiment.json").is_file()


def _experiment(folder: Path) -> Results:
  """What cannot be read is among the failures."""
  told = jsonfile.read_object(folder / "experiment.json")
  order = {cell: place for place, cell in enumerate(cells_of(folder))}
  found = [
      (order.get(str(runfiles.status_of(path).get("cell")), len(order)), path)
      for path in runs_of(folder)
  ]
  records, failed, left_out = [], [], []
  for _, path in sorted(found):
    wrong = runfiles.damage(path, by_content=False)
    try:
      if wrong:
        raise ConfigError([f"{path}: {wrong}"])
      records.append(record_of(path))
    except ConfigError as error:  # damaged, or of another version
      line = "; ".join(error.errors)
      left_out.append(line)
      message = line.removeprefix(f"{path}: ").removeprefix(f"{path}/")
      failed.append(Failed(label=path.name, message=message, folder=path))
  search = None
  try:
    search = _search(folder / "search.json")
  except ValueError as error:
    left_out.append(f"{folder / 'search.json'}: {error}")
    failed.append(
        Failed(label="search.json", message=str(error), folder=folder)
    )
  return Results(
      folder=folder, name=str(told.get("name", folder.name)),
      question=str(told.get("question", "")), records=tuple(records),
      left_out=tuple(left_out),
      outdated=() if records else written.outdated(str(folder), left_out),
      failed=(*failed, *_failures(folder / "failed")),
      search=search,
  )


def _search(path: Path) -> Search | None:
  told = jsonfile.read_object(path)
  if not told and path.exists():
    raise ValueError("not as a search writes it: no JSON object")
  return search_of(told)


def record_of(folder: Path) -> Record:
  """A finished run.

  Raises:
    ConfigError: a file of it is damaged, or is another version's.
  """
  status = runfiles.status_of(folder)
  if wrong := _damage(folder, status):
    raise ConfigError([f"{folder}: {wrong}"])
  read = {name: _object(folder / f"{name}.json") for name in _READ}
  if other := written.refusal(
      folder, asked=read["config"], summary=read["summary"],
      conditions=read["conditions"],
  ):
    raise ConfigError([f"{folder}: {other}"])
  return Record(
      label=str(status.get("label") or folder.name), folder=folder,
      asked=schema.run_from_tree(read["config"]),
      repeat=status.get("repeat") or 0,
      **read,
  )


def _damage(folder: Path, status: dict[str, Any]) -> str:
  """What is wrong with a run's files; one outside experiments lists none."""
  if (folder / runfiles.STATUS).exists() and not status:
    return f"{runfiles.STATUS} is not as it was written"
  wrong = runfiles.differing(
      folder, status.get("files", {}), by_content=False
  )
  return wrong or _not_parquet(folder / "requests.parquet")


def _not_parquet(path: Path) -> str:
  """Why a file is no whole Parquet file, which begins and ends with a word."""
  try:
    with path.open("rb") as file:
      begins = file.read(4)
      file.seek(-4, 2)
      whole = begins == file.read() == b"PAR1"
  except OSError as error:
    return f"{path.name} cannot be read: {error.strerror}"
  return "" if whole else f"{path.name} is no whole Parquet file"


def _object(path: Path) -> dict[str, Any]:
  found = jsonfile.read_object(path)
  if not found:
    raise ConfigError([f"{path}: cannot be read"])
  return found


def _failures(folder: Path) -> list[Failed]:
  if not folder.is_dir():
    return []
  told = [(path, runfiles.status_of(path)) for path in sorted(folder.iterdir())]
  return [
      Failed(
          label=str(status.get("label", path.name)), folder=path,
          message=str(status.get("message", "")),
      )
      for path, status in told
      if path.is_dir() and not path.name.startswith(".")
  ]
