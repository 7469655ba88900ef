"""Has a job's programs compiled, in processes that may die."""

import dataclasses
import sys
from collections.abc import Iterator
from typing import Any

from pdjax import schema
from pdjax.aot.compile import QUIET, Compiled
from pdjax.aot.job import Job
from pdjax.aot.process import Process
from pdjax.aot.target import Target
from pdjax.buckets import Shape

COMMAND = [sys.executable, "-m", "pdjax.aot.compile"]


def compiled(
    job: Job, target: Target, timeout_s: float
) -> Iterator[Compiled]:
  """What becomes of each of the job's programs, in order, as it happens.

  `timeout_s` is for one program.
  """
  process = Process(
      command=COMMAND, environment=QUIET[target.platform], timeout_s=timeout_s
  )
  answers = process.answers(
      job.shapes, lambda shapes: _request(job, target, shapes)
  )
  for shape, answer in zip(job.shapes, answers, strict=True):
    yield Compiled.of(str(shape), shape.kind, answer)


def _request(job: Job, target: Target, shapes: list[Shape]) -> dict[str, Any]:
  return {
      "target": target.name,
      "run": schema.tree_of(job.run),
      "worker": job.worker,
      "R": job.R,
      "shapes": [dataclasses.asdict(shape) for shape in shapes],
  }
