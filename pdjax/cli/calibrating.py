"""The engine's part of a calibration, in the process that has the devices.

Imports JAX. The engine of a run serves the loads of a survey under the run's
own policy; every step and transfer of their logs is an observation.
"""

from collections.abc import Callable
from pathlib import Path

from pdjax.calibrate.calibration import calibration
from pdjax.calibrate.observe import StepSeen, TransferSeen, observe
from pdjax.calibrate.survey import survey
from pdjax.cli.compiled import padding_of
from pdjax.cli.measured import measured
from pdjax.cli.uncollected import uncollected
from pdjax.config import Run, most_seqs, pools_of
from pdjax.engine.backend import EngineBackend
from pdjax.metrics.provenance import now, provenance
from pdjax.models.sizes import spec_of
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import world_of
from pdjax.simulate.stepcosts import policy_for
from pdjax.sweep import jsonfile
from pdjax.workload.build import build
from pdjax.workload.prompts import token_ids

FILE = "calibration.json"


def calibrate(run: Run, folder: Path, say: Callable[[str], None]) -> None:
  """Measures the engine of `run` and writes `FILE` into `folder`.

  Raises:
    ConfigError: the run does not fit the engine or the machine.
  """
  started, load = now(), build(run.workload)
  plant = measured(run, load, say)
  engine = plant.backend
  assert isinstance(engine, EngineBackend)
  try:
    steps, transfers = _surveyed(run, engine, plant.pool_pages, say)
    spec, pool = spec_of(run.model), engine.replicas[0].config
    found = calibration(
        steps,
        transfers,
        kv_bytes_per_token=pool.page_bytes // pool.page_tokens,
        padding=padding_of(run),
        model=spec.name,
        tp=pools_of(run)[0].tp,
        made_by={
            "device": plant.conditions["chip"],
            "chips": plant.conditions["chips"],
            "dtype": run.model.dtype,
            "notes": plant.conditions["notes"],
            **provenance(
                started=started, folder=folder, devices=plant.devices
            ),
        },
    )
  finally:
    plant.close()
  jsonfile.write(folder / FILE, found)


def _surveyed(
    run: Run, engine: EngineBackend, pool_pages, say: Callable[[str], None]
) -> tuple[list[StepSeen], list[TransferSeen]]:
  """All steps and transfers of all loads of the survey."""
  steps: list[StepSeen] = []
  transfers: list[TransferSeen] = []
  vocab, most = spec_of(run.model).vocab_size, _most_seqs(run)
  for name, load in survey(build(run.workload), most):
    engine.reset(load, token_ids(load, None, vocab, 0))
    with uncollected():
      log = serve(policy_for(run), engine, world_of(run, pool_pages))
    seen = observe(log, policy_for(run), world_of(run, pool_pages))
    steps += seen.steps
    transfers += seen.transfers
    say(f"{name}: {len(seen.steps)} steps, {len(seen.transfers)} transfers")
  return steps, transfers


def _most_seqs(run: Run) -> int:
  """Users that one worker of the smallest limit can hold at a time."""
  return min(p.max_num_seqs or most_seqs(run.strategy) for p in pools_of(run))
