"""`python -m pdjax.report`: results as one page, and as figures for print.

An experiment's page is made again at its end too. Reading the logs of long
runs takes longer than all else there, so a page of the very same runs stays:
it says itself what it was made from.
"""

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pdjax.cli import command, folders
from pdjax.cli.arguments import Grammar, read, usage
from pdjax.cli.command import OK
from pdjax.cli.folders import Results
from pdjax.cli.uncollected import uncollected
from pdjax.config import ConfigError
from pdjax.fieldtypes import near
from pdjax.sweep import jsonfile, runfiles, temporary

PAGE = "report.html"
FIGURES = "figures"
_MADE_FROM = "made_from.json"
_MOST_STUDIES = 8
"""With figures; more would make a page that nobody reads."""

KINDS = ("svg", "png", "pdf")
GRAMMAR = Grammar(values=("figures", "output_dir"))
USAGE = usage(f"""\
Makes one HTML file of results, and its figures for print.

  python -m pdjax.report DIR

  --figures=KINDS      of {",".join(KINDS)}, or none (default: all three)
  --output_dir=DIR     where it goes (default: DIR itself)
""", """\
DIR is the folder of an experiment, of one run, or of experiments (a page each).
The page needs no network; each figure's data lie beside it as CSV. Of one run
there is also trace.json.gz, which ui.perfetto.dev opens.
""", "written")


def main(arguments: Sequence[str]) -> int:
  """Writes the reports that the arguments ask for; the exit status."""
  return command.answer(_main, arguments)


def _main(arguments: Sequence[str]) -> int:
  told = _parse(arguments)
  if told is None:
    print(USAGE, end="")
    return OK
  folder, output, kinds = told
  found = folders.results_of(folder)
  if outdated := [line for one in found for line in one.outdated]:
    raise ConfigError(outdated)
  for one in found:
    place = one.folder if output is None else output
    if output is not None and len(found) > 1:
      place = output / one.folder.name
    if reason := temporary.refusal(place):
      raise ConfigError([f"--output_dir={place}: {reason}"])
    for line in one.left_out:
      print(f"! left out: {line}", file=sys.stderr)
    for path in _written(one, place, kinds):
      print(path)
  return OK


def _written(found: Results, place: Path, kinds: Sequence[str]) -> list[Path]:
  try:
    return write(found, place, kinds)
  except OSError as error:
    raise ConfigError([
        f"--output_dir={place}: {error.strerror or error}"
    ]) from error


def _parse(
    arguments: Sequence[str],
) -> tuple[Path, Path | None, Sequence[str]] | None:
  """Folder, place, kinds of figures; None asks for help."""
  said = read(arguments, GRAMMAR)
  if said.help:
    return None
  said.expect("one DIR", most=1)
  kinds = _kinds(said.value("figures"), said.errors)
  if said.errors:
    raise ConfigError(said.errors)
  output = said.value("output_dir")
  return Path(said.given[0]), None if output is None else Path(output), kinds


def _kinds(told: str | None, errors: list[str]) -> Sequence[str]:
  if not told or told == "none":
    return () if told else KINDS
  kinds = told.split(",")
  errors += [
      f"--figures={told}: {kind!r} is no kind; allowed: {', '.join(KINDS)},"
      f" none{near(kind, KINDS)}"
      for kind in kinds if kind not in KINDS
  ]
  return kinds


def write(found: Results, folder: Path, kinds: Sequence[str]) -> list[Path]:
  """Writes a page, figures of some kinds, and a single run's trace.

  Raises:
    OSError: something cannot be written; a page that was there is whole.
  """
  from pdjax.report.page import html_of

  folder.mkdir(parents=True, exist_ok=True)
  with uncollected():
    report = _report(found)
  page = folder / PAGE
  jsonfile.write_text(page, html_of(report))
  made = [page]
  _drop_figures(folder / FIGURES)
  if kinds:
    made.append(_write_figures(report, folder / FIGURES, kinds))
  if found.single and (trace := _trace(found, folder)):
    made.append(trace)
  return made


def remake(folder: Path) -> Path | None:
  """The page of an experiment, made if what it shows has changed.

  Returns:
    The page, None where nothing was run.
  """
  (found,) = folders.results_of(folder)
  if not found.records and not found.failed:
    return None
  page = folder / PAGE
  if not _is_current(page, _made_from(found)):
    write(found, folder, ())
  return page


def _is_current(page: Path, made_from: str) -> bool:
  """Whether a page is whole and of the very same runs."""
  try:
    text = page.read_text("utf-8")
  except (OSError, ValueError):
    return False
  return made_from in text[:2000] and text.rstrip().endswith("</html>")


def _made_from(found: Results) -> str:
  """SHA-256 of all that a report shows: not of when and where it was run."""
  own = Path(sys.modules["pdjax"].__file__ or "").parent
  sources = sorted([*(own / "report").iterdir(), *(own / "timeline").iterdir()])
  facts = {
      "name": found.name, "question": found.question,
      "runs": [[one.label, _files(one.folder)] for one in found.records],
      "failed": [[one.label, one.message] for one in found.failed],
      "search": found.search and found.search.headline,
      "code": [
          hashlib.sha256(path.read_bytes()).hexdigest()
          for path in sources if path.is_file()
      ],
  }
  return hashlib.sha256(jsonfile.canonical(facts).encode()).hexdigest()


def _files(folder: Path) -> dict[str, Any]:
  """A run's files by content, but for what tells dates and hosts."""
  files = runfiles.status_of(folder).get("files", {})
  return {name: files[name] for name in files if name != "provenance.json"}


def _report(found: Results):
  from pdjax.cli import rooflines
  from pdjax.report.figures import figures_of
  from pdjax.report.page import Report
  from pdjax.report.study import studies_of

  studies = studies_of(found.records)
  shown = studies[:_MOST_STUDIES]
  return Report(
      name=found.name, question=found.question, records=found.records,
      failed=found.failed, search=found.search,
      more_studies=len(studies) - len(shown),
      figures=[
          figures_of(study, rooflines.chart, searched=found.search is not None)
          for study in shown
      ],
      folder=found.folder,
      made_from=_made_from(found),
  )


def _drop_figures(folder: Path) -> None:
  """Figures of other runs are worse than none."""
  files = jsonfile.read_object(folder / _MADE_FROM).get("files")
  for name in files if isinstance(files, dict) else ():
    (folder / Path(name).name).unlink(missing_ok=True)
  (folder / _MADE_FROM).unlink(missing_ok=True)


def _write_figures(report, folder: Path, kinds: Sequence[str]) -> Path:
  """Each chart in each kind, and its data."""
  from pdjax.report import datafile, paper

  folder.mkdir(parents=True, exist_ok=True)
  temporary.sweep_up(folder)
  with temporary.all_or_none(folder) as beside:
    for name, chart in report.named_charts():
      paper.write(chart, beside / name, kinds)
      jsonfile.write_text(beside / f"{name}.csv", datafile.text_of(chart))
    told = {"made_from": report.made_from, "files": runfiles.listed(beside)}
    jsonfile.write(beside / _MADE_FROM, told)
  return folder


def _trace(found: Results, folder: Path) -> Path | None:
  """The run for Perfetto; None where its log cannot be read."""
  from pdjax.report.life import life_of
  from pdjax.timeline import perfetto

  with uncollected():
    life = life_of(found.records[0], gauges=True)
  if life is None:
    return None
  with temporary.all_or_none(folder) as beside:
    perfetto.write(beside / perfetto.FILE, life.activity, life.gauges)
  return folder / perfetto.FILE
