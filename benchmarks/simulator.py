"""How fast the simulator is, what it spends its time on, and its memory.

    python -m benchmarks.simulator TRACE.csv [--repeats=3] [--synthetic=100000]

TRACE.csv is the Azure conversation trace. Llama-3-8B on 8 A100 serves it under
three strategies. Times are CPU seconds of one process, not wall clock: of the
repeats the fastest counts, the slowest is told. `served` is the event loop
alone; `with metrics` adds every request's row and the summary, `with files`
also events.parquet and requests.parquet. Reading the trace is not counted. The
reference loop says how fast the machine was meanwhile: 20,000 small function
calls, in nanoseconds each. The shares come from one more run under cProfile,
which sees into plain Python alone. The first line says whether modules were
compiled (`python -m pdjax.accelerate`); `PDJAX_ACCELERATED=0` leaves them out.

`--synthetic` serves so many drawn requests instead, and a quarter of them
first: memory a request must not grow.
"""

import argparse
import concurrent.futures
import cProfile
import dataclasses
import multiprocessing
import os
import platform
import pstats
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pdjax import accelerated, config
from pdjax.cli import argtypes, command
from pdjax.cli.uncollected import uncollected
from pdjax.eventfile import write_log
from pdjax.metrics.requests import table_of, write_requests
from pdjax.metrics.summary import summarize
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import policy_of, world_of
from pdjax.simulate.cluster import cluster_of
from pdjax.workload.build import build

CASES = {
    "continuous": ("8C", config.Strategy(kind="continuous")),
    "chunked 512": ("8C", config.Strategy(kind="chunked", chunk_size=512)),
    "4P4D": ("4P4D", config.Strategy(kind="disaggregated")),
}
PARTS = {
    "policy": (
        "schedule/policies", "schedule/batching", "schedule/placement",
        "schedule/routing", "schedule/decisions", "schedule/vllm",
        "schedule/recovery", "schedule/lanes", "schedule/ahead",
    ),
    "loop and world": ("schedule/", "pages", "prefixcache", "request"),
    "virtual clock": (
        "simulate/backend", "simulate/lane", "simulate/links", "segments",
        "workload/",
    ),
    "cost model": ("simulate/",),
    "log": ("event", "entry"),
    "metrics": ("metrics/", "window"),
}
"""By the beginnings of modules' paths; the first that fits counts."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
  """CPU seconds of one run, and the peak memory of its process."""

  requests: int
  served_s: float
  metrics_s: float
  files_s: float
  peak_bytes: int
  built_bytes: int
  """Peak before serving, the requests built."""
  call_ns: float
  """Of the reference loop."""


def run_of(case: str, workload: config.Workload) -> config.Run:
  """The config of a case."""
  split, strategy = CASES[case]
  return config.Run(
      backend=config.Backend(kind="simulated"),
      model=config.Model(preset="llama-3-8b"),
      cluster=config.Cluster(split=split, chip="a100-80gb-sxm"),
      strategy=strategy,
      workload=workload,
      slo=config.SLO(ttft_s=2.0, tpot_s=0.1),
  )


def spend(run: config.Run) -> Spent:
  """Serves a run once and makes its metrics and files."""
  workload, cluster = build(run.workload), cluster_of(run)
  built_bytes, call_ns = _peak_bytes(), reference_ns()
  world = world_of(run, cluster.pool_pages, cluster.staging_pages)
  backend = cluster.backend(workload.clients(), workload.output_tokens)
  marks = [time.process_time()]
  with uncollected():
    log = serve(policy_of(run), backend, world)
  marks.append(time.process_time())
  table = table_of(log, run)
  summarize(table, run)
  marks.append(time.process_time())
  with tempfile.TemporaryDirectory() as folder:
    write_log(log, Path(folder) / "events.parquet")
    write_requests(table, Path(folder) / "requests.parquet")
  marks.append(time.process_time())
  served_s, metrics_s, files_s = (
      end - begin for begin, end in zip(marks, marks[1:], strict=False)
  )
  return Spent(
      requests=len(table), served_s=served_s, metrics_s=metrics_s,
      files_s=files_s, peak_bytes=_peak_bytes(), built_bytes=built_bytes,
      call_ns=(call_ns + reference_ns()) / 2,
  )


def reference_ns() -> float:
  """CPU nanoseconds of one turn of a loop that never changes."""

  def call(kept: dict[int, list[int]], turn: int) -> int:
    kept[turn & 1023] = made = [turn, turn + 1]
    return len(made)

  kept: dict[int, list[int]] = {}
  began = time.process_time()
  for turn in range(20_000):
    call(kept, turn)
  return (time.process_time() - began) / 20_000 * 1e9


def _peak_bytes() -> int:
  return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def shares(run: config.Run) -> dict[str, float]:
  """What part of a run's time goes to what, under cProfile."""
  workload, cluster = build(run.workload), cluster_of(run)
  world = world_of(run, cluster.pool_pages, cluster.staging_pages)
  backend = cluster.backend(workload.clients(), workload.output_tokens)
  profile = cProfile.Profile(time.process_time)
  with uncollected(), profile:
    log = serve(policy_of(run), backend, world)
    summarize(table_of(log, run), run)
  spent: Counter[str] = Counter()
  entries = getattr(pstats.Stats(profile), "stats")  # noqa: B009
  for (file, *_), (_, _, own_s, _, callers) in entries.items():
    if part := _part(file):
      spent[part] += own_s
      continue
    # A builtin or a library: of those who call it.
    for (caller, *_), (_, _, for_it_s, _) in callers.items():
      spent[_part(caller) or "other"] += for_it_s
  return {part: s / spent.total() for part, s in spent.most_common()}


def _part(file: str) -> str | None:
  _, inside, name = file.rpartition("/pdjax/")
  starts = ((p, s) for p, each in PARTS.items() for s in each)
  found = (part for part, start in starts if name.startswith(start))
  return next(found, None) if inside else None


def table(case: str, runs: Sequence[Spent]) -> str:
  """A line of Markdown: the fastest of the repeats, and how far apart."""

  def rate(*parts: str) -> str:
    seconds = [sum(getattr(run, p) for p in parts) for run in runs]
    each = [x.requests / s for x, s in zip(runs, seconds, strict=True)]
    return f"{max(each):,.0f} ({min(each):,.0f})"

  served = rate("served_s")
  counted = rate("served_s", "metrics_s")
  filed = rate("served_s", "metrics_s", "files_s")
  peak = max(run.peak_bytes for run in runs)
  grown = max((r.peak_bytes - r.built_bytes) / r.requests for r in runs)
  call_ns = min(run.call_ns for run in runs)
  return (
      f"| {case} | {runs[0].requests:,} | {served} | {counted} | {filed}"
      f" | {peak / 2**20:,.0f} | {grown:,.0f} | {call_ns:.0f} |"
  )


HEAD = """\
| case | requests | served /CPU-s | with metrics | with files | peak MiB \
| bytes a request | reference ns |
|---|---|---|---|---|---|---|---|"""


def alone(call, *arguments):
  """The result of a call in a process of its own."""
  context = multiprocessing.get_context("spawn")
  with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
    return pool.submit(call, *arguments).result()


def workloads(asked: argparse.Namespace) -> list[config.Workload]:
  """The trace, or a quarter and all of the drawn requests."""
  if not asked.synthetic:
    return [config.Workload(kind="azure", path=asked.trace)]
  return [
      config.Workload(num_requests=count, rate=40.0, seed=0)
      for count in (asked.synthetic // 4, asked.synthetic)
  ]


def built() -> str:
  """Whether modules are compiled, and how many of those that were needed."""
  compiled = len(accelerated.loaded())
  needed = len({*accelerated.MODULES} & {*sys.modules})
  return f"{compiled} of {needed} modules compiled" if compiled else "plain"


def main(argv: Sequence[str]) -> int:
  parser = argparse.ArgumentParser(description="Times the simulator.")
  parser.add_argument("trace", nargs="?", type=argtypes.input_file)
  parser.add_argument("--repeats", type=argtypes.whole(1), default=3)
  parser.add_argument("--synthetic", type=argtypes.whole(4), default=0)
  parser.add_argument(
      "--cases", type=argtypes.some_of(CASES), default=list(CASES)
  )
  asked = parser.parse_args(argv)
  if not asked.trace and not asked.synthetic:
    print("say a trace, or --synthetic=N", file=sys.stderr)
    return 2
  print(f"Python {platform.python_version()}, {built()}\n\n{HEAD}")
  for case in asked.cases:
    for workload in workloads(asked):
      run = run_of(case, workload)
      spent = [alone(spend, run) for _ in range(asked.repeats)]
      print(table(case, spent), flush=True)
  os.environ[accelerated.SWITCH] = "0"  # for the processes to come
  for case in asked.cases if asked.trace else ():
    each = alone(shares, run_of(case, workloads(asked)[0]))
    told = ", ".join(f"{part} {share:.0%}" for part, share in each.items())
    print(f"\n{case}: {told}", flush=True)
  return 0


if __name__ == "__main__":
  sys.exit(command.answer(main, sys.argv[1:]))
