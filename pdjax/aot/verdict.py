"""From what the compiler says to what a worker can hold.

memory x utilization = weights + the largest program's temporaries and outputs
+ pages of KV cache. Sizes are per device and those of the compiled programs.
A program that copies the whole pool holds it more than once, so that each page
takes its room as often; that, and how many requests share the pages, is
arithmetic.

Units: `_bytes` bytes, `_pages` pages, `_tokens` tokens.
"""

import dataclasses
from collections.abc import Sequence

from pdjax.aot.compile import Compiled
from pdjax.aot.job import Job
from pdjax.aot.target import Target
from pdjax.aot.work import mean_tokens
from pdjax.engine import capacity
from pdjax.workload.workload import Workload


@dataclasses.dataclass(frozen=True, kw_only=True)
class Verdict:
  """What one worker has room for on one device of its mesh."""

  hbm_bytes: int
  """What the device gives: memory x utilization."""
  needed_bytes: int
  """Of the program that needs most."""
  weight_bytes: int
  work_bytes: int
  """Temporaries and outputs of the program that has most of them."""
  page_bytes: int
  pool_copies: int
  """Whole copies of the pool among the temporaries."""
  pages: int
  """That fit beside weights and work; the sentinel is counted off."""
  tokens: int
  requests: float
  """Of the workload's mean length with their answers."""

  least_tokens: int
  """That the pool must hold: what the config says, or one request."""

  @property
  def fits(self) -> bool:
    return self.tokens >= self.least_tokens


def verdict(
    job: Job,
    target: Target,
    workload: Workload,
    programs: Sequence[Compiled],
) -> Verdict | None:
  """What fits; None if no program compiled."""
  done = [program for program in programs if not program.refused]
  if not done:
    return None
  run, page_tokens = job.run, job.run.cluster.page_tokens
  hbm_bytes = int(target.hbm_bytes * run.cluster.hbm_utilization)
  pool_pages = capacity.pool_pages_of(run)[job.worker] + 1
  page_bytes = done[0].pool_bytes // pool_pages
  passes = [p for p in done if p.kind in ("decode", "prefill", "mixed")]
  weight_bytes = max(
      (p.argument_bytes - p.pool_bytes for p in passes), default=0
  )
  worst = max(done, key=lambda p: p.temp_bytes + p.output_bytes)
  work_bytes = worst.temp_bytes + worst.output_bytes
  copies = work_bytes // worst.pool_bytes if worst.whole_copies else 0
  left_bytes = hbm_bytes - weight_bytes - work_bytes % worst.pool_bytes
  if not copies:
    left_bytes = hbm_bytes - weight_bytes - work_bytes
  pages = left_bytes // (page_bytes * (1 + copies)) - 1
  tokens = max(0, pages) * page_tokens
  return Verdict(
      hbm_bytes=hbm_bytes,
      needed_bytes=max(p.needed_bytes for p in done),
      weight_bytes=weight_bytes,
      work_bytes=work_bytes,
      page_bytes=page_bytes,
      pool_copies=copies,
      pages=max(0, pages),
      tokens=tokens,
      least_tokens=job.least_tokens,
      requests=tokens / mean_tokens(workload),
  )
