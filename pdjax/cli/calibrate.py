"""`python -m pdjax.calibrate`: what this machine's engine takes for its steps.

The measured cells of a config say which engines; each is surveyed in a process
of its own, and all are fitted together. Modules that take time are imported
when needed.
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
                       (backend.kind=jax) that are left the first of each
                       strategy and split is surveyed, for half a minute and
                       at least one round of loads
  --out=FILE           the calibration (default: calibration.json)
""", """\
Each engine serves closed loops of more and more users and a load with pauses,
with lengths up to the config's longest. Half of the steps of all engines are
fitted, the others tell the error. Designs that the prices are to tell apart
belong into one calibration. The file prices steps in the simulator
(backend.costs=FILE) and in `python -m pdjax.fidelity --calibration=FILE`.
Nothing else should run on the devices meanwhile.
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
  cells = engines(flags, errors)
  if errors or not cells or out is None:
    raise ConfigError(list(dict.fromkeys(errors)))
  return _calibrate(cells, out)


def engines(flags: experiment_flags.Flags, errors: list[str]) -> list[Any]:
  """The first measured cell of each strategy and split, of one model."""
  from pdjax.cli import aot_plan

  cells = aot_plan.cells_of(flags, errors) if flags.config else []
  measured = [cell for cell in cells if cell.run.backend.kind == "jax"]
  if not errors and not measured:
    errors.append(
        "--config: no cell of it is measured (backend.kind='jax'); only an"
        " engine can be calibrated"
    )
  first: list[tuple[Any, Any]] = []
  for cell in measured:
    run, known = cell.run, [engine for engine, _ in first]
    engine = (run.cluster, run.strategy, run.engine)
    alike = run.model == measured[0].run.model
    if alike and run.cluster.tp == measured[0].run.cluster.tp:
      first += [(engine, cell)] if engine not in known else []
  return [cell for _, cell in first]


def _calibrate(cells: Sequence[Any], out: Path) -> int:
  """Surveys one engine after another and shows what came of it."""
  from pdjax.calibrate import surveyed
  from pdjax.cli import calibrating_report
  from pdjax.sweep import jsonfile

  found = []
  for cell in cells:
    print(f"surveys the engine of {cell.label}")
    one = _survey(cell)
    if isinstance(one, str):
      print(f"not calibrated: {one}")
      return FAILED
    found.append(one)
  fitted = surveyed.together(found, [cell.label for cell in cells])
  jsonfile.write(out, fitted)
  print("\n".join(calibrating_report.lines(fitted)))
  print(f"written: {out}")
  return OK


def _survey(cell: Any) -> Any:
  """What the engine's part saw, or why it failed."""
  from pdjax.calibrate import surveyed
  from pdjax.metrics.provenance import COMMAND
  from pdjax.sweep import devices
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
    return failure or surveyed.read(folder) or "its process ended"


def _wait(answers: queue.SimpleQueue) -> str:
  """Shows progress until the run is over; why it failed, or nothing.

  Raises:
    ConfigError: its config asks for what there is not.
  """
  while True:
    _, answer = answers.get()
    if answer is None:
      return "its process ended"
    if answer.get("mistakes"):
      raise ConfigError(answer["mistakes"])
    if "ended" in answer:
      return answer["ended"] or ""
    print(f"  {answer['said']}", flush=True)
