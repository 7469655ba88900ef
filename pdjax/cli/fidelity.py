"""`python -m pdjax.fidelity`: how far the simulator is off a measured run.

The requests of each measured run are served again on the virtual clock, by the
same policy, pages and split. Modules that take time are imported when needed.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from pdjax import inputfile
from pdjax.cli import command
from pdjax.cli.arguments import Grammar, read, usage
from pdjax.cli.command import FAILED, OK
from pdjax.config import ConfigError

GRAMMAR = Grammar(values=("markdown", "out"), added=("calibration",))
USAGE = usage("""\
Serves measured runs again in the simulator and prints how far it is off.

  python -m pdjax.fidelity FOLDER... [--calibration=FILE] [--out=FOLDER]
                           [--markdown=FILE]

FOLDER is a measured run's folder, or an experiment's, which means its measured
runs. Without a calibration (`python -m pdjax.calibrate`) each run's step costs
are fitted to every second of its own steps: then the error is that of the
timing model, and no forecast. Of runs that only repeat each other the median is
meant, and what they differ by is the noise floor.

  --calibration=FILE   prices from another measurement; one for each model
  --markdown=FILE      a page of it: each figure measured, simulated, its error,
                       the noise floor, and whether it is within the target;
                       then little is printed
  --out=FOLDER         of fidelity.json, fidelity.png (default: first FOLDER)
""", "", "compared", {1: "a run is not repeated by its own scheduler"})


def main(arguments: Sequence[str]) -> int:
  """Does what the command line asks; returns the exit status."""
  return command.answer(_main, arguments)


def _main(arguments: Sequence[str]) -> int:
  said = read(arguments, GRAMMAR)
  if said.help:
    print(USAGE, end="")
    return OK
  folders, errors = said.given, said.errors
  said.expect("the FOLDER of a measured run, or of an experiment")
  errors += [
      f"{f}: {reason}" for f in folders
      if (reason := inputfile.folder_refusal(Path(f)))
  ]
  out = Path(said.value("out") or (folders or ["."])[0])
  if said.value("out") and (reason := inputfile.folder_refusal(out)):
    errors.append(f"--out={out}: {reason}")
  page = said.value("markdown")
  if page and (reason := inputfile.folder_refusal(Path(page).parent)):
    errors.append(f"--markdown={page}: {reason}")
  if errors:
    raise ConfigError(errors)
  from pdjax.cli import fidelity_page, fidelity_report, fidelity_runs
  from pdjax.schedule.replay import Diverged

  runs = fidelity_runs.read(map(Path, folders))
  try:
    found = fidelity_runs.compared(runs, said.all("calibration"))
  except Diverged as error:
    print(f"{error}: this run's scheduler goes another way", file=sys.stderr)
    return FAILED
  if page:
    Path(page).write_text("\n".join(fidelity_page.lines(found)) + "\n")
    print("\n".join([fidelity_page.verdict(found), f"written: {page}"]))
  else:
    print("\n".join(fidelity_report.lines(found)))
  for path in fidelity_report.write(found, out):
    print(f"written: {path}")
  return OK
