"""One run, from its config to its folder of results.

`python -m pdjax.cli.cell CONFIG.json FOLDER` does it in a process of its own;
what it prints is its progress. With a finished run's `config.json` and a new
folder it does that run again.
"""

import dataclasses
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pdjax import schema, tracks
from pdjax.cli.crowd import Crowd
from pdjax.cli.plant import Plant, plant_of
from pdjax.cli.uncollected import uncollected
from pdjax.cli.watch import Watch
from pdjax.config import ConfigError, Run
from pdjax.events import Log, StepEnded
from pdjax.metrics.provenance import now, provenance
from pdjax.metrics.requests import RequestTable, table_of, write_requests
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import world_of
from pdjax.schedule.world import World
from pdjax.simulate.stepcosts import policy_for
from pdjax.sweep import devices, jsonfile
from pdjax.timeline import activity, gauges, perfetto
from pdjax.userscode import to_the_end
from pdjax.workload.build import build
from pdjax.workload.workload import Workload

Say = Callable[[str], None]


FILES = (
    "config.json", "conditions.json", "provenance.json", "status.json",
    "summary.json", "events.parquet", "requests.parquet", "attribution.json",
)
"""Of every run."""


def files_of(run: Run) -> tuple[str, ...]:
  """What a run leaves in its folder."""
  measured = run.backend.kind == "jax"
  return (*FILES, "tokens.parquet", perfetto.FILE) if measured else FILES


class LawBroken(RuntimeError):
  """A run ended in a state that no correct run ends in."""


def profile_cell(run: Run, folder: Path, progress: Say) -> None:
  """As `run_cell`, and a JAX trace of a few steps of it (`profiled`)."""
  run_cell(run, folder, progress, traced=True)


def run_cell(
    run: Run, folder: Path, progress: Say, *, traced: bool = False
) -> None:
  """Serves the run's workload and writes `files_of(run)` into `folder`.

  Raises:
    ConfigError: the config asks for what there is not.
    Stalled, LawBroken: the scheduler is wrong.
  """
  started, started_at = time.monotonic(), now()
  workload = build(run.workload)
  plant = plant_of(run, workload, progress)
  try:
    world = world_of(run, plant.pool_pages, plant.staging_pages)
    watch = Watch(len(workload.requests), progress)
    crowd = Crowd() if run.backend.kind == "jax" else None
    with uncollected():
      log = serve(policy_for(run), plant.backend, world, watch)
    others = crowd.share() if crowd else None
    check_laws(world, workload)
    made_by = provenance(
        started=started_at, folder=folder, devices=plant.devices
    )
    _write(run, workload, plant, log, folder, others)
    if traced:
      plant.profile(folder, len(log.of(StepEnded)))
    jsonfile.write(
        folder / "provenance.json", made_by | {"costs": list(plant.costs())}
    )
  finally:
    plant.close()
  jsonfile.write(
      folder / "status.json", {"seconds": time.monotonic() - started}
  )


def check_laws(world: World, workload: Workload) -> None:
  """Laws 1 and 2: requests and pages are conserved.

  Raises:
    LawBroken: a request or a page is lost.
  """
  ended = sum(progress.ended for progress in world.progress.values())
  arrived, sent = len(world.progress), workload.least_arrivals
  if ended != arrived or arrived < sent:
    raise LawBroken(
        f"law 1: {sent} requests sent, {arrived} arrived, {ended} ended"
    )
  for worker in world.workers:
    free, pages = worker.pool.free_pages, worker.spec.pool_pages
    if free != pages:
      raise LawBroken(
          f"law 2: worker {worker.id} ends with {free} of {pages} pages free"
      )


def _write(
    run: Run,
    workload: Workload,
    plant: Plant,
    log: Log,
    folder: Path,
    others_share: float | None,
) -> None:
  from pdjax.cli.utilised import utilised
  from pdjax.eventfile import write_log
  from pdjax.metrics.attribution import by_worker
  from pdjax.metrics.conditions import conditions
  from pdjax.metrics.summary import summarize
  from pdjax.workload.statistics import describe

  tree = schema.tree_of(run)
  jsonfile.write(folder / "config.json", tree)
  jsonfile.write(
      folder / "conditions.json",
      conditions(run, workload.conditions, **plant.conditions),
  )
  write_log(log, folder / "events.parquet")
  plant.write(folder)
  if run.backend.kind == "jax":  # of simulated ones `pdjax.report` makes it
    _write_trace(run, plant, log, folder)
  table = table_of(log, run)
  write_requests(table, folder / "requests.parquet")
  jsonfile.write(folder / "attribution.json", by_worker(table.attribution))
  facts, more = plant.examine()
  more |= utilised(run, table, plant.devices)
  # Law 2 has been checked: a run that leaks does not get here.
  facts = dataclasses.replace(
      facts,
      pages_leaked=0,
      others_core_share=others_share,
      load_ended=workload.window and len(table) == len(workload.requests),
      answers_cut=_answers_cut(run, workload, table),
      prefix_reuse_share=describe(workload)["prefix_reuse_share"],
  )
  summary = summarize(
      table, run, chips=plant.conditions.get("chips"), facts=facts
  )
  jsonfile.write(folder / "summary.json", summary | more | schema.flat(tree))


def _write_trace(run: Run, plant: Plant, log: Log, folder: Path) -> None:
  names = tracks.worker_names(run)
  world = world_of(run, plant.pool_pages, plant.staging_pages)
  perfetto.write(
      folder / perfetto.FILE, activity.activity_of(log, names),
      gauges.gauges_of(log, policy_for(run), world),
  )


def _answers_cut(
    run: Run, workload: Workload, table: RequestTable
) -> int | None:
  """Measured answers that end before their true length; None: none can."""
  if run.workload.max_tokens is None or run.workload.stop == "eos":
    return None
  done = table["request"][table["measured"] & table.finished]
  return sum(id in workload.cut for id in done.tolist())


def _read(config: Path) -> Run:
  tree = jsonfile.read(config)
  if tree is None:
    raise ConfigError([f"{config}: not a run's config.json"])
  return schema.run_from_tree(tree)


def _make(folder: Path) -> None:
  """A folder to write to; a finished run is never overwritten."""
  try:
    folder.mkdir(parents=True, exist_ok=True)
    taken = any(folder.iterdir())
  except OSError as error:
    raise ConfigError([f"{folder}: cannot be written to: {error}"]) from error
  if taken:
    raise ConfigError([f"{folder}: not empty; name a new folder"])


def main(arguments: list[str]) -> int:
  if len(arguments) != 2 or arguments[0].startswith("-"):
    print("usage: python -m pdjax.cli.cell CONFIG.json NEW_FOLDER")
    return 0 if arguments in (["--help"], ["-h"]) else 2
  config, folder = map(Path, arguments)
  try:
    run = _read(config)
    _make(folder)
    if run.backend.kind == "jax":
      os.environ.update(devices.environment(run))  # JAX is not loaded yet
    with to_the_end(f"strategy.kind: {run.strategy.kind!r}"):
      run_cell(run, folder, lambda text: print(text, flush=True))
  except ConfigError as error:
    print("; ".join(error.errors), file=sys.stderr)
    return 2
  return 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
