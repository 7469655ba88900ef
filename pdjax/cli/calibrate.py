"""`python -m pdjax.calibrate`: what this machine's engine takes for its steps.

The measured cells of a config say which engine; each is surveyed in a process
of its own. Modules that take time are imported when needed.
"""

import json
import queue
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pdjax.cli import command
from pdjax.cli import flags as experiment_flags
from pdjax.cli.aot import CONFIGS, output_of
from pdjax.cli.arguments import Grammar, read, usage
from pdjax.cli.command import FAILED, OK
from pdjax.config import ConfigError

GRAMMAR = Grammar(values=("out",), handed_on=CONFIGS)
USAGE = usage("""\
Measures the steps of a config's engine on the devices here, and fits prices.

  python -m pdjax.calibrate --config=quickstart --out=mine.json

  --config=FILE, --config.FIELD=VALUE, --only='FIELD=VALUE'
                       as in python -m pdjax.experiment; of the measured cells
                       (backend.kind=jax) that are left the first is taken
  --out=FILE           the calibration (default: calibration.json)
""", """\
The engine serves closed loops of more and more users, with lengths up to the
config's longest. Half of the steps are fitted, the others tell the error. The
file prices steps in the simulator (backend.costs=FILE) and in
`python -m pdjax.fidelity --calibration=FILE`. Nothing else should run on the
devices meanwhile.
""", "written", {1: "the engine failed"})


def main(arguments: Sequence[str]) -> int:
  """Does what the command line asks; returns the exit status."""
  return command.answer(_main, arguments)


def _main(arguments: Sequence[str]) -> int:
  said = read(arguments, GRAMMAR)
  if said.help:
    print(USAGE, end="")
    return OK
  flags, errors = experiment_flags.beside(said)
  if flags.config is None:
    errors.append("--config: say which, as in --config=quickstart")
  out = output_of("out", said.value("out") or "calibration.json", errors)
  cell = _measured_cell(flags, errors)
  if errors or cell is None or out is None:
    raise ConfigError(list(dict.fromkeys(errors)))
  print(f"surveys the engine of {cell.label}")
  return _survey(cell, out)


def _measured_cell(flags: experiment_flags.Flags, errors: list[str]) -> Any:
  from pdjax.cli import aot_plan

  cells = aot_plan.cells_of(flags, errors) if flags.config else []
  measured = [cell for cell in cells if cell.run.backend.kind == "jax"]
  if not errors and not measured:
    errors.append(
        "--config: no cell of it is measured (backend.kind='jax'); only an"
        " engine can be calibrated"
    )
  return measured[0] if measured else None


def _survey(cell: Any, out: Path) -> int:
  """Runs the engine's part and shows what came of it."""
  from pdjax.cli import calibrating_report
  from pdjax.metrics.provenance import COMMAND
  from pdjax.sweep import devices, jsonfile
  from pdjax.sweep.process import Process

  answers: queue.SimpleQueue = queue.SimpleQueue()
  with tempfile.TemporaryDirectory() as made:
    folder = Path(made)
    told = {COMMAND: json.dumps(sys.orig_argv)}
    process = Process(
        "pdjax.cli.calibrating:calibrate",
        devices.environment(cell.run) | told, folder, answers,
    )
    process.ask(cell.run, folder)
    try:
      failure = _wait(answers)
    finally:
      process.end()
    found = jsonfile.read(folder / "calibration.json")
    if failure or found is None:
      print(f"not calibrated: {failure or 'its process ended'}")
      return FAILED
  jsonfile.write(out, found)
  print("\n".join(calibrating_report.lines(found)))
  print(f"written: {out}")
  return OK


def _wait(answers: queue.SimpleQueue) -> str:
  """Shows progress until the run is over; why it failed, or nothing."""
  while True:
    _, answer = answers.get()
    if answer is None:
      return "its process ended"
    if "ended" in answer:
      return answer["ended"] or ""
    print(f"  {answer['said']}", flush=True)
