"""`python -m pdjax.workload`: what a trace holds, in words and figures."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pdjax import config
from pdjax.cli import command
from pdjax.cli.arguments import Grammar, read, usage
from pdjax.cli.command import OK
from pdjax.config import ConfigError
from pdjax.fieldtypes import near
from pdjax.sweep import temporary

GRAMMAR = Grammar(
    values=("kind", "output_dir"), switches=("skip_bad_rows",)
)
USAGE = usage("""\
Says what a trace holds: arrivals, lengths, laws fitted to them, prefix reuse.

  python -m pdjax.workload FILE

  --kind=KIND          format of the file; guessed from how it begins
  --output_dir=DIR     where the figure goes (default: beside the file)
  --skip_bad_rows      leaves malformed rows out and counts them
""", """\
Formats are those of workload.kind, in docs/experiments.md.
""", "told")


def main(arguments: Sequence[str]) -> int:
  """Describes the file that the arguments name; returns the exit status."""
  return command.answer(_main, arguments)


def _main(arguments: Sequence[str]) -> int:
  told = _parse(arguments)
  if told is None:
    print(USAGE, end="")
    return OK
  for line in _describe(*told):
    print(line)
  return OK


def _parse(
    arguments: Sequence[str],
) -> tuple[config.Workload, Path] | None:
  """The trace as a workload, and the figure's folder; None asks for help."""
  said = read(arguments, GRAMMAR)
  if said.help:
    return None
  said.expect("one FILE", most=1)
  kind = said.value("kind")
  said.errors += _unknown_kind(kind) if kind else []
  if said.errors:
    raise ConfigError(said.errors)
  (file,) = said.given
  kind = kind or _kind(file)
  workload = config.Workload(
      kind=kind,  # pyright: ignore[reportArgumentType]
      path=file,
      skip_bad_rows="skip_bad_rows" in said.switches,
  )
  folder = Path(said.value("output_dir") or Path(file).parent)
  if reason := temporary.refusal(folder):
    raise ConfigError([f"--output_dir={folder}: {reason}"])
  return workload, folder


def _unknown_kind(kind: str) -> list[str]:
  from pdjax.workload.formats import FORMATS

  if kind in FORMATS:
    return []
  known = ", ".join(FORMATS)
  return [f"--kind={kind}: allowed: {known}{near(kind, FORMATS)}"]


def _kind(path: str) -> str:
  """The format that a file seems to have."""
  from pdjax import inputfile
  from pdjax.workload.formats import guess

  if reason := inputfile.refusal(path):
    raise ConfigError([f"{path}: {reason}"])
  with inputfile.path_of(path).open("rb") as file:
    start = file.read(1 << 16).decode("utf-8-sig", errors="replace")
  if start.startswith("PAR1"):
    return "requests"
  found = guess(start.lstrip().partition("\n")[0])
  if found is None:
    raise ConfigError([f"{path}: no known format; say which, as --kind=azure"])
  return found


def _describe(workload: config.Workload, folder: Path) -> Iterator[str]:
  from pdjax.cli import portrait
  from pdjax.report import paper
  from pdjax.workload.reuse import reuse_curve
  from pdjax.workload.traces import read

  trace = read(workload.kind, workload.path, _all(workload))
  built = portrait.built(workload, trace)
  reuse = reuse_curve(built.requests)
  yield from portrait.lines(workload, trace, built, reuse)
  name = Path(workload.path or "").stem
  try:
    folder.mkdir(parents=True, exist_ok=True)
    with temporary.all_or_none(folder) as beside:
      (figure,) = paper.write(
          portrait.chart(name, built, reuse), beside / f"{name}.workload",
          ["png"],
      )
  except OSError as error:
    reason = error.strerror or error
    raise ConfigError([f"--output_dir={folder}: {reason}"]) from None
  yield f"\nfigure: {folder / figure.name}"


def _all(workload: config.Workload):
  from pdjax.workload.kept import Ask

  return Ask(skip_bad=workload.skip_bad_rows)
