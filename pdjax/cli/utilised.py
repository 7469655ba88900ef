"""Utilisation of a run's steps, whatever served it.

The one place that puts a log's shapes together with a model's sizes and the
peaks of chips; see `pdjax.utilisation`.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from pdjax.config import Pool, Run
from pdjax.dtypes import Dtypes
from pdjax.memory import weight_bytes
from pdjax.metrics.requests import RequestTable, span_ns
from pdjax.metrics.shapes import read_shapes
from pdjax.models.sizes import spec_of
from pdjax.schedule.setup import worker_pools
from pdjax.simulate.chip import PEAK_OF_DTYPE, Chip
from pdjax.simulate.chips import of_device
from pdjax.simulate.cluster import cost_of, dtypes_of
from pdjax.simulate.work import Operators
from pdjax.utilisation.figures import utilisation
from pdjax.utilisation.worker import Worker


def utilised(
    run: Run, table: RequestTable, devices: Sequence[str]
) -> dict[str, Any]:
  """Fields of the summary: utilisation of steps, and weights held.

  Args:
    run: the resolved config.
    table: of its log.
    devices: what JAX calls the devices; empty of simulated ones.
  """
  workers = workers_of(run, devices)
  span = span_ns(table.columns, table.end_ns, table.window)
  shapes = read_shapes(table.journal)
  return utilisation(shapes, workers, *span) | _weights(workers)


def workers_of(run: Run, devices: Sequence[str]) -> list[Worker]:
  """Each worker's model and chips."""
  pools = worker_pools(run)
  make = _measured if run.backend.kind == "jax" else _simulated
  made = {pool: make(run, pool, devices) for pool in dict.fromkeys(pools)}
  return [made[pool] for pool in pools]


def _simulated(run: Run, pool: Pool, devices: Sequence[str]) -> Worker:
  on = cost_of(run, pool).chip
  dtypes = dtypes_of(run.model, on)
  return Worker(
      role=pool.role, chip=on, devices=on.name,
      operators=Operators(spec_of(run.model), dtypes, pool.layout),
  )


def _measured(run: Run, pool: Pool, devices: Sequence[str]) -> Worker:
  kind = devices[0] if devices else ""
  dtypes = Dtypes.all(run.model.dtype)
  return Worker(
      role=pool.role, chip=_device(run, kind), devices=kind,
      operators=Operators(spec_of(run.model), dtypes, pool.layout),
  )


def _device(run: Run, kind: str) -> Chip | None:
  """What a device can do: as its data sheet says, or as the config does."""
  given = {
      PEAK_OF_DTYPE[run.model.dtype]: run.engine.device_flops_per_s,
      "hbm_bytes_per_s": run.engine.device_bytes_per_s,
  }
  figures: dict[str, Any] = {
      name: round(value) for name, value in given.items() if value is not None
  }
  known = of_device(kind)
  if not figures:
    return known
  return dataclasses.replace(known or Chip(name=kind), **figures)


def _weights(workers: list[Worker]) -> dict[str, int]:
  """What all workers hold, and how much of that is there more than once."""
  held = 0
  for worker in workers:
    ops = worker.operators
    chip_bytes = weight_bytes(ops.spec, ops.dtypes, ops.layout)
    held += chip_bytes * ops.layout.chips
  alone = workers[0].alone
  once = weight_bytes(alone.spec, alone.dtypes, alone.layout)
  return {
      "weight_bytes_held": held, "weight_bytes_repeated": max(0, held - once)
  }
