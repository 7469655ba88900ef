"""`python -m pdjax.export`: results in the files of other tools."""

import dataclasses
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from pdjax.cli import command
from pdjax.cli.command import OK
from pdjax.config import ConfigError
from pdjax.fieldtypes import near

FORMATS = ("vllm", "aiperf", "csv", "parquet")

USAGE = """\
Writes finished runs as files of other tools.

  python -m pdjax.export DIR --format=FORMAT

DIR is a run's folder, an experiment's, or that of a config with blocks.

  --format=vllm            summary.json for `vllm bench sweep plot`, and a file
                           a run as `vllm bench serve --save-detailed` writes it
  --format=aiperf          profile_export_aiperf.csv of each run
  --format=csv             summary.csv, and a file of requests a run
  --format=parquet         summary.parquet, and requests.parquet of all runs
  --output_dir=FOLDER      a new folder (default: exports/NAME-FORMAT)
  --only='FIELD=V1,V2'     runs with these values
  --nodetailed             vllm: without the lists that have an entry a request
  --help                   shows this

docs/compare.md says which key is what. Exit status: 0, or 2 for a mistake.
"""

_FLAGS = ("format", "output_dir", "only", "nodetailed", "help")


@dataclasses.dataclass(kw_only=True)
class _Asked:
  """What the command line says."""

  folders: list[str] = dataclasses.field(default_factory=list)
  format: str = ""
  output_dir: str = ""
  only: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)
  detailed: bool = True
  help: bool = False


def main(arguments: Sequence[str]) -> int:
  """Exports what the arguments name; returns the exit status."""
  return command.answer(_main, arguments)


def _main(arguments: Sequence[str]) -> int:
  asked = _parse(arguments)
  if asked.help:
    print(USAGE, end="")
    return OK
  _export(asked)
  return OK


def _parse(arguments: Sequence[str]) -> _Asked:
  asked, errors = _Asked(), []
  seen: set[str] = set()
  for argument in arguments:
    name, _, value = argument.removeprefix("--").partition("=")
    if not argument.startswith("-"):
      asked.folders.append(argument)
    elif argument != "-h" and name not in _FLAGS:
      wanted = near(name, _FLAGS).replace("mean '", "mean '--")
      errors.append(f"--{name}: no such flag{wanted}")
    elif name in seen - {"only"}:
      errors.append(f"--{name}: given twice; say it once")
    else:
      errors += _take(asked, "help" if argument == "-h" else name, value)
    seen.add(name)
  errors += [] if asked.help else _missing(asked)
  if errors:
    raise ConfigError(errors)
  return asked


def _take(asked: _Asked, name: str, value: str) -> list[str]:
  """Notes a flag; returns what is wrong with it."""
  if name in ("help", "nodetailed"):
    asked.help |= name == "help"
    asked.detailed &= name != "nodetailed"
    return [f"--{name}: takes no value"] if value else []
  if not value:
    return [f"--{name}: needs a value, as --{name}=..."]
  if name == "only":
    path, equals, values = value.partition("=")
    asked.only.append((name, path.strip(), values))
    return [] if equals else ["--only: expected FIELD=VALUES"]
  setattr(asked, name, value)
  if name == "format" and value not in FORMATS:
    allowed = ", ".join(FORMATS)
    return [f"--format={value}: allowed: {allowed}{near(value, FORMATS)}"]
  return []


def _missing(asked: _Asked) -> list[str]:
  lines = []
  if len(asked.folders) != 1:
    lines.append(f"expected one DIR, got {len(asked.folders)}; see --help")
  if not asked.format:
    lines.append(f"--format: say which of {', '.join(FORMATS)}")
  if not asked.detailed and asked.format != "vllm":
    lines.append("--nodetailed: only --format=vllm has details")
  return lines


def _export(asked: _Asked) -> None:
  from pdjax.cli import exports
  from pdjax.results.chosen import selected
  from pdjax.results.found import results_in

  (given,) = asked.folders
  found, left_out = results_in(given)
  results = selected(found, asked.only)
  target = Path(
      asked.output_dir
      or f"exports/{Path(given).resolve().name}-{asked.format}"
  )
  for line in left_out:
    print(f"! left out, damaged: {line}")
  write: dict[str, Callable[[Path], None]] = {
      "vllm": lambda to: exports.vllm(results, to, detailed=asked.detailed),
      "aiperf": lambda to: exports.aiperf(results, to),
      "csv": lambda to: exports.csv(results, to),
      "parquet": lambda to: exports.parquet(results, to),
  }
  named = "--output_dir=" if asked.output_dir else ""
  _whole(target, f"{named}{target}", write[asked.format])
  runs = "1 run" if len(results) == 1 else f"{len(results)} runs"
  print(f"{runs}: {target}")


def _whole(
    target: Path, named: str, write: Callable[[Path], None]
) -> None:
  """Makes a folder with all that is to be in it, or none.

  `named` is the folder in words: with the flag where one was given.
  """
  from pdjax.sweep import temporary

  if target.exists() or target.is_symlink():
    raise ConfigError([
        f"{named}: is there already; remove it, or name a new folder with"
        " --output_dir=FOLDER"
    ])
  if results := next(filter(_holds_results, target.resolve().parents), None):
    raise ConfigError([
        f"{named}: inside the results in {results}; name a folder elsewhere"
    ])
  if reason := temporary.refusal(target):
    raise ConfigError([f"{named}: {reason}"])
  place = next(path for path in target.absolute().parents if path.is_dir())
  made = temporary.make(place, target.name)
  try:
    write(made)
    target.parent.mkdir(parents=True, exist_ok=True)
    made.rename(target)
  except OSError as error:
    raise ConfigError([
        f"{named}: {error.strerror or error}"
    ]) from None
  finally:
    shutil.rmtree(made, ignore_errors=True)


def _holds_results(folder: Path) -> bool:
  """Whether a folder is an experiment's or a run's: only they write to it."""
  own = ("config.json", "summary.json")
  return (folder / "experiment.json").is_file() or all(
      (folder / name).is_file() for name in own
  )
