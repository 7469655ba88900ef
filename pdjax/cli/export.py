"""`python -m pdjax.export`: results in the files of other tools."""

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from pdjax.cli import command
from pdjax.cli.arguments import Grammar, Said, read, usage
from pdjax.cli.command import OK
from pdjax.cli.compare import fields_of
from pdjax.config import ConfigError
from pdjax.fieldtypes import near

FORMATS = ("vllm", "aiperf", "csv", "parquet")

GRAMMAR = Grammar(
    values=("format", "output_dir"), added=("only",), switches=("nodetailed",)
)
USAGE = usage("""\
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
""", """\
docs/compare.md says which key is what.
""", "exported")


def main(arguments: Sequence[str]) -> int:
  """Exports what the arguments name; returns the exit status."""
  return command.answer(_main, arguments)


def _main(arguments: Sequence[str]) -> int:
  said = read(arguments, GRAMMAR)
  if said.help:
    print(USAGE, end="")
    return OK
  said.expect("one DIR", most=1)
  said.errors += _wrong_format(said)
  only = fields_of(said, ("only",))
  if said.errors:
    raise ConfigError(said.errors)
  _export(said, only)
  return OK


def _wrong_format(said: Said) -> list[str]:
  names = said.all("format")
  if not names:
    return [f"--format: say which of {', '.join(FORMATS)}"]
  if names[0] and names[0] not in FORMATS:
    allowed = ", ".join(FORMATS)
    return [f"--format={names[0]}: allowed: {allowed}{near(names[0], FORMATS)}"]
  if "nodetailed" in said.switches and names[0] != "vllm":
    return ["--nodetailed: only --format=vllm has details"]
  return []


def _export(said: Said, only: list[tuple[str, str, str]]) -> None:
  from pdjax.cli import exports
  from pdjax.results.chosen import selected
  from pdjax.results.found import results_in

  (given,), (form,) = said.given, said.all("format")
  found, left_out = results_in(given)
  results = selected(found, only)
  told = said.value("output_dir")
  target = Path(told or f"exports/{Path(given).resolve().name}-{form}")
  detailed = "nodetailed" not in said.switches
  for line in left_out:
    print(f"! left out: {line}", file=sys.stderr)
  write: dict[str, Callable[[Path], None]] = {
      "vllm": lambda to: exports.vllm(results, to, detailed=detailed),
      "aiperf": lambda to: exports.aiperf(results, to),
      "csv": lambda to: exports.csv(results, to),
      "parquet": lambda to: exports.parquet(results, to),
  }
  named = "--output_dir=" if told else ""
  _whole(target, f"{named}{target}", write[form])
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
