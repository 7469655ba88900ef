"""How much of a KV transfer each schedule hides, and what moving bytes costs.

    python -m benchmarks.transfer [--prompt_tokens=4096] [--repeats=5]

One long prompt, alone, on 1P1D: what is exposed is what its answer waits for
after the prefill. Against each schedule's own lower bound: all of the transfer
for whole requests, 1/c of it for c chunks, 1/(L/k) for groups of k of L layers.
With a staging budget of a quarter of the prompt the whole moves in quarters,
one after the other: all of it, and little more. `staging` is what was at most
on its way, off the source and not yet in the target's pages.
`whole` is the time of all bytes on the link (bytes / bandwidth + latency).

measured   model `small`, float32, on two CPU devices of this host that share
           its cores. The link is slowed (`cluster.link`): a bandwidth at which
           the whole transfer takes `--share` of the prefill, found first. Of
           the repeats the median counts, the fastest and slowest are told.
simulated  Llama-3-8B on H100, a link found likewise. Exact; no repeats.

A chunk's bytes can only hide if the next chunk takes longer than they do, so
`--share` is below 1. Last, `device_put` of fresh arrays between two devices,
beside copies of fresh and of used memory, on this host as it is.
"""

import argparse
import dataclasses
import os
import statistics
import sys
import time
from collections.abc import Iterator

import numpy as np

from pdjax import config, events
from pdjax.cli import argtypes
from pdjax.dtypes import Dtypes
from pdjax.engine import capacity
from pdjax.engine.backend import EngineBackend
from pdjax.metrics.requests import RequestTable, request_table
from pdjax.models.sizes import spec_of
from pdjax.ranges import Range
from pdjax.request import Request
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import policy_of, world_of
from pdjax.simulate.cluster import cluster_of
from pdjax.workload.workload import Workload

KINDS = ("simulated", "measured")
CHUNKS = 8
OUTPUT_TOKENS = 4


@dataclasses.dataclass(frozen=True)
class Schedule:
  """A row of the table."""

  name: str
  plan: config.TransferPlan
  pieces: int
  """The last of so many equal pieces is exposed."""
  chunked: bool = False
  staging_share: float | None = None
  """Of the prompt's bytes: the staging budget."""


@dataclasses.dataclass(frozen=True)
class Exposed:
  """What one schedule left exposed; seconds."""

  whole_s: float
  exposed_s: list[float]
  hidden_s: float
  staging_bytes: int

  @property
  def median_s(self) -> float:
    return statistics.median(self.exposed_s)


def schedules(num_layers: int) -> list[Schedule]:
  plan = config.TransferPlan
  found = [
      Schedule("request", plan(), 1),
      Schedule("request, 1/4 staged", plan(), 1, staging_share=0.25),
      Schedule("chunk", plan(granularity="chunk"), CHUNKS, chunked=True),
  ]
  for layers in (num_layers // 2, num_layers // 4):
    found.append(Schedule(
        f"layers, {layers} of {num_layers}",
        plan(granularity="layers", layers=layers), num_layers // layers,
    ))
  return found


def run_of(kind: str, schedule: Schedule, prompt_tokens: int) -> config.Run:
  simulated = kind == "simulated"
  run = config.Run(
      backend=config.Backend(kind="simulated" if simulated else "jax"),
      model=config.Model(
          preset="llama-3-8b" if simulated else "small",
          dtype="bfloat16" if simulated else "float32",
      ),
      cluster=config.Cluster(
          split="1P1D", chip="h100-sxm" if simulated else None,
          page_tokens=64, kv_tokens=2 * prompt_tokens,
      ),
      strategy=config.Strategy(
          kind="disaggregated", transfer=schedule.plan, max_num_seqs=1,
          chunk_size=prompt_tokens // CHUNKS if schedule.chunked else None,
          max_num_batched_tokens=prompt_tokens,
      ),
  )
  if schedule.staging_share is None:
    return run
  prompt_bytes = prompt_tokens * spec_of(run.model).kv_bytes_per_token(
      Dtypes.all(run.model.dtype).kv_bytes
  )
  plan = dataclasses.replace(
      schedule.plan, staging_bytes=round(schedule.staging_share * prompt_bytes)
  )
  return dataclasses.replace(
      run, strategy=dataclasses.replace(run.strategy, transfer=plan)
  )


def linked(run: config.Run, bandwidth: float | None) -> config.Run:
  link = config.Link(bandwidth_bytes_per_s=bandwidth)
  return dataclasses.replace(
      run, cluster=dataclasses.replace(run.cluster, link=link)
  )


def load_of(prompt_tokens: int) -> Workload:
  asked = Request(
      id=0, arrival_ps=0, prompt_tokens=prompt_tokens, max_tokens=OUTPUT_TOKENS
  )
  return Workload((asked,), (OUTPUT_TOKENS,), {})


def served(kind: str, run: config.Run, repeats: int) -> Iterator[RequestTable]:
  """A table for each repeat; a measured run is warmed up by one more."""
  prompt_tokens = run.strategy.max_num_batched_tokens or 0
  load = load_of(prompt_tokens)
  if kind == "simulated":
    cluster = cluster_of(run)
    backend = cluster.backend(load.clients(), load.output_tokens)
    world = world_of(run, cluster.pool_pages, cluster.staging_pages)
    yield request_table(serve(policy_of(run), backend, world))
    return
  prompts = [np.arange(prompt_tokens, dtype=np.int32) % 256]
  sizes = capacity.pool_pages_of(run), capacity.staging_pages_of(run)
  with EngineBackend(run, load, prompts) as backend:
    for repeat in range(repeats + 1):
      backend.reset(load, prompts)
      log = serve(policy_of(run), backend, world_of(run, *sizes))
      assert not any(e.failure for e in log.of(events.TransferEnded))
      if repeat:
        yield request_table(log)


def bandwidth_for(
    kind: str, schedule: Schedule, prompt_tokens: int, share: float
) -> float:
  """At which all pages take `share` of the prefill's time."""
  run = run_of(kind, schedule, prompt_tokens)
  tables = list(served(kind, linked(run, 1e12), 3))
  prefill_s = statistics.median(
      float(table["prefill_ns"][0]) / 1e9 for table in tables
  )
  return tables[0].attribution.moved_bytes / (share * prefill_s)


def exposed(
    kind: str, schedule: Schedule, prompt_tokens: int, repeats: int,
    share: float,
) -> Exposed:
  bandwidth = bandwidth_for(kind, schedule, prompt_tokens, share)
  run = linked(run_of(kind, schedule, prompt_tokens), bandwidth)
  tables = list(served(kind, run, repeats))
  moved_bytes = tables[0].attribution.moved_bytes
  return Exposed(
      moved_bytes / bandwidth + run.cluster.link.latency_s,
      [float(table["transfer_ns"][0]) / 1e9 for table in tables],
      statistics.median(
          float(table["hidden_transfer_ns"][0]) / 1e9 for table in tables
      ),
      max(table.attribution.staging_peak_bytes for table in tables),
  )


def print_table(flags: argparse.Namespace) -> None:
  print(
      f"{'':10} {'schedule':19} {'staging MB':>11} {'whole ms':>9}"
      f" {'bound ms':>9} {'exposed ms':>11} {'of bound':>9}"
      "  fastest to slowest"
  )
  for kind in flags.kinds:
    num_layers = {"simulated": 32, "measured": 4}[kind]
    for schedule in schedules(num_layers):
      found = exposed(
          kind, schedule, flags.prompt_tokens, flags.repeats, flags.share
      )
      bound_s = found.whole_s / schedule.pieces
      low, high = (x(found.exposed_s) / bound_s for x in (min, max))
      print(
          f"{kind:10} {schedule.name:19} {found.staging_bytes / 1e6:11.1f}"
          f" {found.whole_s * 1e3:9.1f} {bound_s * 1e3:9.2f}"
          f" {found.median_s * 1e3:11.2f} {found.median_s / bound_s:9.3f}"
          f"  {low:.3f} to {high:.3f}",
          flush=True,
      )


def print_copies(repeats: int) -> None:
  """GB/s of `device_put` between devices, and of memory copies."""
  import jax

  here, there = jax.devices()[:2]
  print(f"\n{'MB':>6} {'device_put':>11} {'fresh copy':>11} {'used copy':>11}"
        "   GB/s, best of repeats (measured)")
  for megabytes in (1, 16, 64):
    values = np.ones(megabytes * 2**18, np.float32)
    source, used = jax.device_put(values, here), np.empty_like(values)
    used[:] = 0

    def put(source=source):
      jax.block_until_ready(jax.device_put(source, there))

    def fresh(values=values):
      np.copyto(np.empty_like(values), values)

    def again(values=values, used=used):
      np.copyto(used, values)

    rates = [values.nbytes / _best_s(do, repeats) / 1e9
             for do in (put, fresh, again)]
    print(f"{megabytes:6} " + " ".join(f"{rate:11.2f}" for rate in rates))


def _best_s(do, repeats: int) -> float:
  do()
  times = []
  for _ in range(max(5, repeats)):
    began_s = time.perf_counter()
    do()
    times.append(time.perf_counter() - began_s)
  return min(times)


def main(arguments: list[str] | None = None) -> None:
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawTextHelpFormatter
  )
  parser.add_argument(
      "--prompt_tokens", type=argtypes.whole(128), default=4096
  )
  parser.add_argument("--repeats", type=argtypes.whole(1), default=5)
  parser.add_argument(
      "--kinds", type=argtypes.some_of(KINDS), default=list(KINDS)
  )
  parser.add_argument(
      "--share", type=argtypes.number(Range(0, 100, above=True)), default=0.6
  )
  flags = parser.parse_args(arguments)
  os.environ.setdefault("JAX_PLATFORMS", "cpu")
  os.environ.setdefault(
      "XLA_FLAGS", "--xla_force_host_platform_device_count=2"
  )
  print_table(flags)
  print_copies(flags.repeats)


if __name__ == "__main__":
  main(sys.argv[1:])
