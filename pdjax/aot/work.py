"""What a program computes and moves when its bucket is full.

By the cost model's arithmetic: a compiler counts a scanned layer once and
knows nothing of how long contexts are. Contexts have the workload's mean
length, prompts start at their first token.

Units: `_flops` operations, `_bytes` bytes, both of one device.
"""

import statistics

from pdjax.aot.job import Job
from pdjax.buckets import Shape
from pdjax.dtypes import Dtypes
from pdjax.models.sizes import spec_of
from pdjax.schedule.cost import StepShape
from pdjax.simulate.stepwork import step_work
from pdjax.simulate.work import Operators, Work
from pdjax.workload.workload import Workload


def mean_tokens(workload: Workload) -> float:
  """Of a request with its answer."""
  return statistics.fmean(workload.total_tokens)


def full_step(job: Job, workload: Workload, shape: Shape) -> Work:
  """Of a step with every row taken; copied pages are read and written."""
  run, devices = job.run, job.pool.tp
  operators = Operators(
      spec_of(run.model), Dtypes.all(run.model.dtype)
  )
  if shape.kind in ("gather", "scatter"):
    cells = shape.M * run.cluster.page_tokens
    return Work(0, 2 * cells * operators.kv_bytes // devices)
  context = round(mean_tokens(workload))
  whole = step_work(operators, StepShape(
      prefill=((shape.U, 0),) if shape.U else (),
      decode_seqs=shape.B,
      decode_context_tokens=shape.B * context,
  ))
  return Work(whole.flops // devices, whole.bytes // devices)
