"""One run, from its config to its folder of results.

`python -m pdjax.cli.cell CONFIG.json FOLDER` does it in a process of its own;
what it prints is its progress.
"""

import dataclasses
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pdjax import schema
from pdjax.cli.plant import Plant, plant_of
from pdjax.cli.uncollected import uncollected
from pdjax.cli.watch import Watch
from pdjax.config import ConfigError, Run
from pdjax.events import Log
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import policy_of, world_of
from pdjax.schedule.world import World
from pdjax.sweep import jsonfile
from pdjax.workload.build import build
from pdjax.workload.workload import Workload

Say = Callable[[str], None]


class LawBroken(RuntimeError):
  """A run ended in a state that no correct run ends in."""


def run_cell(run: Run, folder: Path, progress: Say) -> None:
  """Serves the run's workload and writes its files into `folder`.

  Raises:
    ConfigError: the config asks for what there is not.
    Stalled, LawBroken: the scheduler is wrong.
  """
  started = time.monotonic()
  workload = build(run.workload)
  plant = plant_of(run, workload, progress)
  try:
    world = world_of(run, plant.pool_pages)
    watch = Watch(len(workload.requests), progress)
    with uncollected():
      log = serve(policy_of(run), plant.backend, world, watch)
    check_laws(world, workload)
    _write(run, workload, plant, log, folder)
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
  if not ended == len(world.progress) == len(workload.requests):
    raise LawBroken(
        f"law 1: {len(workload.requests)} requests sent,"
        f" {len(world.progress)} arrived, {ended} ended"
    )
  for worker in world.workers:
    free, pages = worker.pool.free_pages, worker.spec.pool_pages
    if free != pages:
      raise LawBroken(
          f"law 2: worker {worker.id} ends with {free} of {pages} pages free"
      )


def _write(
    run: Run, workload: Workload, plant: Plant, log: Log, folder: Path
) -> None:
  from pdjax.eventfile import write_log
  from pdjax.metrics.conditions import conditions
  from pdjax.metrics.provenance import provenance
  from pdjax.metrics.requests import request_table, write_requests
  from pdjax.metrics.summary import summarize
  from pdjax.workload.statistics import describe

  tree = schema.tree_of(run)
  jsonfile.write(folder / "config.json", tree)
  jsonfile.write(
      folder / "conditions.json",
      conditions(run, workload.conditions, **plant.conditions),
  )
  jsonfile.write(
      folder / "provenance.json",
      provenance(devices=plant.devices) | {"costs": list(plant.costs)},
  )
  write_log(log, folder / "events.parquet")
  plant.write(folder)
  table = request_table(log, run.strategy.first_token or "at_prefill")
  write_requests(table, folder / "requests.parquet")
  facts, more = plant.examine()
  # Law 2 has been checked: a run that leaks does not get here.
  facts = dataclasses.replace(
      facts,
      pages_leaked=0,
      prefix_reuse_share=describe(workload)["prefix_reuse_share"],
  )
  summary = summarize(
      table, run, chips=plant.conditions.get("chips"), facts=facts
  )
  jsonfile.write(folder / "summary.json", summary | more | schema.flat(tree))


def main(arguments: list[str]) -> int:
  config, folder = arguments
  try:
    run = schema.run_from_tree(jsonfile.read(Path(config)))
    run_cell(run, Path(folder), lambda text: print(text, flush=True))
  except ConfigError as error:
    print("; ".join(error.errors), file=sys.stderr)
    return 2
  return 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
