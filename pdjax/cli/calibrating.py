"""The engine's part of a calibration, in the process that has the devices.

Imports JAX. The engine of a run serves the loads of a survey under the run's
own policy; every step and transfer of their logs is an observation.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pdjax.calibrate.observe import StepSeen, TransferSeen, observe
from pdjax.calibrate.survey import light, survey
from pdjax.calibrate.surveyed import Surveyed
from pdjax.cli.compiled import finest, paddings_of
from pdjax.cli.crowd import Crowd
from pdjax.cli.measured import measured
from pdjax.cli.plant import Plant
from pdjax.cli.uncollected import uncollected
from pdjax.config import Run, most_seqs, pools_of
from pdjax.engine.backend import EngineBackend
from pdjax.metrics.flags import not_alone
from pdjax.metrics.provenance import now, provenance
from pdjax.models.sizes import spec_of
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import world_of
from pdjax.simulate.stepcosts import policy_for
from pdjax.workload.build import build
from pdjax.workload.prompts import token_ids
from pdjax.workload.workload import Workload

SURVEY_S = 30.0
"""Rounds of loads begin until so much time is over; there is one at least."""


def calibrate(run: Run, folder: Path, say: Callable[[str], None]) -> None:
  """Measures the engine of `run` and writes what it saw into `folder`.

  Raises:
    ConfigError: the run does not fit the engine or the machine.
  """
  started, load = now(), build(run.workload)
  plant = measured(run, load, say)
  engine = plant.backend
  assert isinstance(engine, EngineBackend)
  try:
    crowd = Crowd()
    steps, transfers = _surveyed(run, plant, engine, load, say)
    notes = [*plant.conditions["notes"], *not_alone(crowd.share())]
    pool = engine.replicas[0].config
    found = Surveyed(
        steps=steps,
        transfers=transfers,
        padding=finest(paddings_of(run)),
        shared=_shared(run, plant),
        kv_bytes_per_token=pool.page_bytes // pool.page_tokens,
        model=spec_of(run.model).name,
        tp=pools_of(run)[0].tp,
        made_by={
            "device": plant.conditions["chip"],
            "chips": plant.conditions["chips"],
            "dtype": run.model.dtype,
            "notes": notes,
            **provenance(
                started=started, folder=folder, devices=plant.devices
            ),
        },
    )
  finally:
    plant.close()
  found.write(folder)


def _shared(run: Run, plant: Plant) -> bool:
  """Whether workers run on parts of one processor, or on one device."""
  several = sum(pool.count for pool in pools_of(run)) > 1
  return several and (
      run.cluster.share_devices or plant.conditions["chip"] == "cpu"
  )


def _surveyed(
    run: Run,
    plant: Plant,
    engine: EngineBackend,
    load: Workload,
    say: Callable[[str], None],
) -> tuple[list[StepSeen], list[TransferSeen]]:
  """All steps and transfers of all loads, but those of the warm-up."""
  vocab, paddings = spec_of(run.model).vocab_size, paddings_of(run)
  steps: list[StepSeen] = []
  transfers: list[TransferSeen] = []
  sizes = plant.pool_pages, plant.staging_pages
  for counts, name, some in loads_of_survey(load, _most_users(run)):
    engine.reset(some, token_ids(some, None, vocab, 0))
    with uncollected():
      log = serve(policy_for(run), engine, world_of(run, *sizes))
    if counts:
      world = world_of(run, *sizes)
      seen = observe(log, policy_for(run), world, paddings)
      steps += seen.steps
      transfers += seen.transfers
    say(f"{name}: {len(steps)} steps, {len(transfers)} transfers so far")
  return steps, transfers


def loads_of_survey(
    load: Workload, most_users: int
) -> Iterator[tuple[bool, str, Workload]]:
  """(whether it counts, what it is, load): a warm-up, then whole rounds."""
  *_, (name, most) = survey(load, most_users)
  yield False, f"warm-up of {name}", most
  began_s = time.monotonic()
  number = 0
  while not number or time.monotonic() < began_s + SURVEY_S:
    request_s = None
    for name, some in survey(load, most_users, number):
      at_s = time.monotonic()
      yield True, f"round {number + 1}, {name}", some
      taken_s = (time.monotonic() - at_s) / len(some.requests)
      request_s = request_s or taken_s
    assert request_s is not None
    calm = light(load, request_s, number)
    yield True, f"round {number + 1}, with pauses", calm
    number += 1


def _most_users(run: Run) -> int:
  """Users that the workers which decode can hold at a time."""
  pools = pools_of(run)
  seqs = min(p.max_num_seqs or most_seqs(run.strategy) for p in pools)
  decoding = sum(pool.count for pool in pools if pool.role != "P")
  return max(1, decoding) * seqs
