"""Three figures that are often taken for one another, by pool and phase.

  compute_busy  T_math of what the chips compute / time of the steps
  mfu           operations the model needs / (peak * time of the steps)
  mbu           bytes the model needs / (bandwidth * time of the steps)

All divide by the time of steps alone; `compute_share[ROLE]` in the summary says
how much of the run that is. None is what a profiler calls a busy or active
multiprocessor: that counts any instruction in flight, waiting for memory too.

A pool is its role; the phase of a step is `prefill`, `decode`, or `mixed`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pdjax.digits import plain
from pdjax.metrics.shapes import Shapes
from pdjax.utilisation.arithmetic import math_s
from pdjax.utilisation.work import works
from pdjax.utilisation.worker import Worker

FIGURES = ("compute_busy", "mfu", "mbu")
RATES = ("needed_flops_per_s", "needed_bytes_per_s")
"""Of all chips of a worker, while it computes."""
_PS_PER_S = 1e12
_MOST = 1 + 1e-6
"""What rounding may make of a figure that is 1."""


def utilisation(
    shapes: Shapes, workers: Sequence[Worker], begin_ns: int, end_ns: int
) -> dict[str, Any]:
  """Flat names for the summary, such as `mfu[P prefill]`.

  A figure is null where a peak is unknown, or cannot be that of these steps
  since they did more; `utilisation_unknown` says why.

  Args:
    shapes: of the run.
    workers: by number.
    begin_ns, end_ns: runs of steps that end between them count.
  """
  counts = (begin_ns * 1000 < shapes.end_ps) & (shapes.end_ps <= end_ns * 1000)
  numbers = _per_run(shapes, workers)
  pool = np.array([worker.role for worker in workers])[shapes.worker]
  phase = shapes.phase
  row: dict[str, Any] = {}
  for role in dict.fromkeys(worker.role for worker in workers):
    for name in ("prefill", "mixed", "decode"):
      mine = counts & (pool == role) & (phase == name)
      if mine.any():
        row |= {
            f"{figure}[{role} {name}]": value
            for figure, value in _figures(numbers[:, mine]).items()
        }
  reasons = [*dict.fromkeys(worker.unknown for worker in workers)]
  reasons += _impossible(row, workers)
  if unknown := "; ".join(filter(None, reasons)):
    row["utilisation_unknown"] = f"not known: {unknown}"
  return row


def _impossible(row: dict[str, Any], workers: Sequence[Worker]) -> list[str]:
  """Takes figures above 1 out of a row, and says of which peaks they were."""
  beyond = {
      name: value for name, value in row.items()
      if name.startswith(FIGURES) and value is not None and value > _MOST
  }
  if not beyond:
    return []
  row |= dict.fromkeys(beyond)
  devices = dict.fromkeys(worker.devices for worker in workers)
  told = ", ".join(f"{name} = {plain(value)}" for name, value in beyond.items())
  return [
      f"steps did more than the peaks of {', '.join(map(repr, devices))} allow"
      f" ({told}): they are those of other devices"
  ]


def _figures(numbers: np.ndarray) -> dict[str, float | None]:
  """Over some runs; nan stands for a peak that is not known."""
  took, flops, size_bytes, math, *most = numbers.sum(axis=1).tolist()
  pairs = zip((math, flops, size_bytes), (took, *most), strict=True)
  values = [
      None if np.isnan(part + whole) else part / whole for part, whole in pairs
  ]
  return {
      **dict(zip(FIGURES, values, strict=True)),
      RATES[0]: flops / took,
      RATES[1]: size_bytes / took,
  }


def _per_run(shapes: Shapes, workers: Sequence[Worker]) -> np.ndarray:
  """Of each run: seconds, operations, bytes, T_math, and the operations and
  bytes that its chips could have done meanwhile."""
  numbers = np.full((6, len(shapes)), np.nan)
  numbers[0] = shapes.took_ps / _PS_PER_S
  for worker in dict.fromkeys(workers):
    alike = [index for index, other in enumerate(workers) if other == worker]
    mine = np.isin(shapes.worker, alike)
    done = works(worker.alone, shapes)
    numbers[1, mine], numbers[2, mine] = done.flops[mine], done.bytes[mine]
    if worker.peak_flops is not None:
      assert worker.chip is not None
      numbers[3, mine] = math_s(worker.operators, worker.chip, shapes)[mine]
      numbers[4, mine] = worker.peak_flops * numbers[0, mine]
    if worker.peak_bytes_per_s is not None:
      numbers[5, mine] = worker.peak_bytes_per_s * numbers[0, mine]
  return numbers
