"""Compiles a plan with progress, and says what came of it."""

import dataclasses
import sys
import time
from typing import Any

from pdjax.aot import launch
from pdjax.aot.compile import Compiled
from pdjax.aot.job import Job, smaller
from pdjax.aot.verdict import Verdict, verdict
from pdjax.aot.work import full_step
from pdjax.buckets import Shape
from pdjax.cli.aot_plan import Plan
from pdjax.cli.requests import workload_of
from pdjax.config import Run
from pdjax.metrics.conditions import model_name
from pdjax.simulate.work import Work

_HEADINGS = (
    "program", "s", "needs GB", "weights+KV", "temporary", "output", "copies",
    "GFLOP*", "GB moved*",
)
_WIDTHS = (26, 7, 9, 11, 10, 7, 7, 9, 10)
_FOOTNOTE = (
    "  * a full step at the workload's mean context, by the cost model's"
    " arithmetic; all per device"
)


@dataclasses.dataclass(frozen=True)
class Finding:
  """What the compiler said of a plan's workers."""

  plan: Plan
  workers: tuple[tuple[Job, tuple[Compiled, ...], Verdict | None], ...]

  @property
  def good(self) -> bool:
    """Every program compiles and fits."""
    return all(
        found is not None
        and found.fits
        and not any(program.refused for program in programs)
        for _, programs, found in self.workers
    )

  def as_json(self) -> dict[str, Any]:
    return {
        "provenance": "compiled, not executed",
        "target": self.plan.target.name,
        "cell": self.plan.cell.label,
        "workers": [
            {
                "role": job.pool.role,
                "count": job.count,
                "tp": job.pool.tp,
                "kv_tokens": job.pool.kv_tokens,
                "programs": [
                    _program_json(job, self.plan, one, shape)
                    for one, shape in zip(programs, job.shapes, strict=True)
                ],
                "verdict": found and dataclasses.asdict(found),
            }
            for job, programs, found in self.workers
        ],
    }


def _program_json(
    job: Job, plan: Plan, program: Compiled, shape: Shape
) -> dict[str, Any]:
  workload = workload_of(plan.cell.run.workload)
  work = full_step(job, workload, shape)
  return dataclasses.asdict(program) | {
      "arithmetic_flops": work.flops,
      "arithmetic_moved_bytes": work.bytes,
  }


def compiled(plan: Plan, timeout_s: float) -> Finding:
  """Compiles all programs of the plan, telling each as it is done."""
  run = plan.cell.run
  print(
      f"{plan.cell.label}: {model_name(run.model)} {run.model.dtype} on"
      f" {plan.target.name} ({plan.target.num_devices} devices of"
      f" {plan.target.hbm_bytes / 1e9:.1f} GB): compiled, not executed"
  )
  return Finding(
      plan, tuple(_worker(job, plan, timeout_s) for job in plan.jobs)
  )


def _worker(
    job: Job, plan: Plan, timeout_s: float
) -> tuple[Job, tuple[Compiled, ...], Verdict | None]:
  print(
      f"\n  {job.count} worker(s) {job.pool.role}, tp {job.pool.tp}, pool of"
      f" {job.pool.kv_tokens:,} tokens"
  )
  started = time.monotonic()
  job, programs = _fitted(job, plan, timeout_s)
  workload = workload_of(plan.cell.run.workload)
  found = verdict(job, plan.target, workload, programs)
  _conclude(found, plan.cell.run, time.monotonic() - started)
  return job, tuple(programs), found


def _compiled(job: Job, plan: Plan, timeout_s: float) -> list[Compiled]:
  _row(_HEADINGS)
  programs = []
  workload = workload_of(plan.cell.run.workload)
  stream = launch.compiled(job, plan.target, timeout_s)
  for place, shape in enumerate(job.shapes, 1):
    _progress(f"    {shape} ({place} of {len(job.shapes)}) ...")
    programs.append(next(stream))
    _progress("")
    _tell(programs[-1], full_step(job, workload, shape))
  print(_FOOTNOTE)
  return programs


def _fitted(
    job: Job, plan: Plan, timeout_s: float
) -> tuple[Job, list[Compiled]]:
  """The job's programs, with the pool made smaller until one compiles.

  Only where the config leaves the pool's size open.
  """
  while True:
    programs = _compiled(job, plan, timeout_s)
    less = smaller(job)
    if less is None or not all(p.out_of_memory for p in programs):
      return job, programs
    job = less
    print(f"  again with a pool of {job.pool.kv_tokens:,} tokens")


def _tell(program: Compiled, work: Work) -> None:
  if program.refused:
    print(f"    {program.shape}: REFUSED: {program.refused}", flush=True)
    return
  _row((
      program.shape, f"{program.seconds:.1f}", _gb(program.needed_bytes),
      _gb(program.argument_bytes), _gb(program.temp_bytes),
      _gb(program.output_bytes), str(program.whole_copies),
      f"{work.flops / 1e9:.0f}", _gb(work.bytes),
  ))


def _conclude(found: Verdict | None, run: Run, seconds: float) -> None:
  if found is None:
    print("  no program compiled: it does not fit, or cannot run there")
    return
  says = "fits" if found.fits else "DOES NOT FIT"
  if found.fits and found.needed_bytes > found.hbm_bytes:
    says = "fits with fewer pages than were tried"
  print(
      f"  {says}: with this pool the largest program needs"
      f" {_gb(found.needed_bytes)} GB; a device gives {_gb(found.hbm_bytes)} GB"
      f" ({run.cluster.hbm_utilization:g} of its memory); {seconds:.0f} s"
  )
  if found.pool_copies:
    print(
        f"  its temporaries hold the whole pool {found.pool_copies} more"
        " time(s): every page takes its room as often"
    )
  print(
      f"  beside {_gb(found.weight_bytes)} GB of weights and"
      f" {_gb(found.work_bytes)} GB of work fit {found.pages:,} pages of KV ="
      f" {found.tokens:,} tokens = {found.requests:.1f} requests of the"
      " workload's mean length at once"
  )


def _row(cells: tuple[str, ...]) -> None:
  first, *rest = cells
  line = first.ljust(_WIDTHS[0]) + "".join(
      cell.rjust(width) for cell, width in zip(rest, _WIDTHS[1:], strict=True)
  )
  print(f"    {line}".rstrip(), flush=True)


def _progress(text: str) -> None:
  """A line that the next one overwrites, where someone is looking."""
  if sys.stderr.isatty():
    print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _gb(size_bytes: int) -> str:
  return f"{size_bytes / 1e9:.2f}"
