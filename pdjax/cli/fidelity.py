"""`python -m pdjax.fidelity`: how far the simulator is off a measured run.

The requests of each measured run are served again on the virtual clock, by the
same policy, pages and split. Modules that take time are imported when needed.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from pdjax import inputfile
from pdjax.cli import command
from pdjax.cli.command import FAILED, OK
from pdjax.cli.ownflags import taken
from pdjax.config import ConfigError

USAGE = """\
Serves measured runs again in the simulator and prints how far it is off.

  python -m pdjax.fidelity FOLDER... [--calibration=FILE] [--out=FOLDER]

FOLDER is a measured run's folder, or an experiment's, which means its measured
runs. Without a calibration (`python -m pdjax.calibrate`) each run's step costs
are fitted to every second of its own steps: then the error is that of the
timing model, and no forecast. Runs that only repeat another show the noise.

  --calibration=FILE   prices from another measurement
  --out=FOLDER         of fidelity.json, fidelity.png (default: first FOLDER)

Exit status: 0 compared, 1 a run is not repeated by its own scheduler, 2 a
mistake in what was asked.
"""


def main(arguments: Sequence[str]) -> int:
  """Does what the command line asks; returns the exit status."""
  return command.answer(_main, arguments)


def _main(arguments: Sequence[str]) -> int:
  if {"--help", "-h"} & set(arguments):
    print(USAGE, end="")
    return OK
  own, folders, errors = taken(arguments, ("calibration", "out"), ())
  errors += [f"{f}: unknown flag; see --help" for f in folders if f[:1] == "-"]
  errors += [
      f"{f}: {reason}" for f in folders
      if f[:1] != "-" and (reason := inputfile.folder_refusal(Path(f)))
  ]
  if not folders:
    errors.append("FOLDER: say which measured run, or experiment")
  out = Path(own.get("out") or (folders or ["."])[0])
  if "out" in own and (reason := inputfile.folder_refusal(out)):
    errors.append(f"--out={out}: {reason}")
  if errors:
    raise ConfigError(errors)
  from pdjax.cli import fidelity_report, fidelity_runs
  from pdjax.schedule.replay import Diverged

  runs = fidelity_runs.read(map(Path, folders))
  try:
    found = fidelity_runs.compared(runs, own.get("calibration"))
  except Diverged as error:
    print(f"{error}: this run's scheduler goes another way", file=sys.stderr)
    return FAILED
  print("\n".join(fidelity_report.lines(found)))
  for path in fidelity_report.write(found, out):
    print(f"written: {path}")
  return OK
