"""The host's gap between decode steps: python -m benchmarks.host_gap

A gap is the time from the end of one decode pass on the device to the beginning
of the next one, a step the time from beginning to beginning; both are read off
JAX's profiler, and the median gap is told as a share of the median step. In a
decode run the worker loops by itself; with single steps every step is decided,
started and reported by itself. With `engine.dispatch_ahead=1` the next step is
handed to the device before the last one's tokens are read.

SmolLM2-135M in float32 with random weights, contexts from 256 tokens on.

  --steps=24        decode steps a case
  --repeats=2       rounds; a case's figure is the median over all
  --batches=1,4,8   sequences that decode together
  --markdown=FILE   the table as a page
  --smoke           a tiny model in seconds: nothing is measured
"""

import argparse
import dataclasses
import itertools
import os
import pathlib
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence

import jax

from benchmarks import engine_tables, traces
from benchmarks.peers import llama_folder
from pdjax import events
from pdjax.schedule.loop import Policy
from pdjax.schedule.world import World

MODULE = "jit_decode"


class SingleSteps:
  """A policy whose decode runs are one step long."""

  def __init__(self, policy: Policy):
    self._policy = policy

  def decide(
      self, event: events.Event, world: World
  ) -> Iterator[events.Command]:
    for command in self._policy.decide(event, world):
      if isinstance(command, events.Step):
        command = dataclasses.replace(command, repeats=1)
      yield command


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Gaps:
  """Of one run: nanoseconds between passes, and from pass to pass."""

  gap_ns: list[float]
  step_ns: list[float]

  @property
  def share(self) -> float:
    return statistics.median(self.gap_ns) / statistics.median(self.step_ns)


def gaps_of(passes: Sequence[tuple[float, float]]) -> Gaps:
  """From the (beginning, end) of each pass; the first two are left out.

  >>> gaps_of([(0, 1), (2, 3), (4, 8), (9, 12)])
  Gaps(gap_ns=[1], step_ns=[5])
  """
  both = list(itertools.pairwise(passes[2:]))
  return Gaps(
      gap_ns=[after[0] - before[1] for before, after in both],
      step_ns=[after[0] - before[0] for before, after in both],
  )


def measured(folder: pathlib.Path, flags) -> Iterator[dict]:
  """A row for each case and round."""
  from benchmarks.peers.own_engine import OwnEngine

  context = 16 if flags.smoke else 256
  for ahead in (0, 1):
    own = OwnEngine({
        "folder": str(folder), "seqs": max(flags.batches),
        "longest": 2 * context, "ahead": ahead,
    })
    rounds = range(flags.repeats)
    cases = itertools.product(rounds, flags.batches, (True, False))
    for repeat, batch, runs in cases:
      policy = (lambda p: p) if runs else SingleSteps
      with traces.traced() as found:
        own.serve([context] * batch, flags.steps + 2, policy)
      gaps = gaps_of(traces.executions(found, MODULE))
      row = {"ahead": ahead, "batch": batch, "runs": runs, "gaps": gaps}
      print(_said(row, repeat), file=sys.stderr, flush=True)
      yield row
    own.backend.close()


def _said(row: dict, repeat: int) -> str:
  kind = "runs" if row["runs"] else "single steps"
  return (
      f"round {repeat + 1}, ahead {row['ahead']}, batch {row['batch']},"
      f" {kind}: {row['gaps'].share:.1%}"
  )


def table(rows: Sequence[dict]) -> str:
  """A line of Markdown for each case: milliseconds, and the share."""
  lines = [
      "| dispatch_ahead | steps | batch | step ms | gap ms | gap / step |",
      "| --- | --- | --- | --- | --- | --- |",
  ]
  cases = sorted({(r["ahead"], not r["runs"], r["batch"]) for r in rows})
  for ahead, single, batch in cases:
    found = [
        row["gaps"] for row in rows
        if (row["ahead"], not row["runs"], row["batch"])
        == (ahead, single, batch)
    ]
    step_ms = statistics.median(x for g in found for x in g.step_ns) / 1e6
    gap_ms = statistics.median(x for g in found for x in g.gap_ns) / 1e6
    lines.append(
        f"| {ahead} | {'one by one' if single else 'decode runs'} | {batch}"
        f" | {step_ms:.2f} | {gap_ms:.3f} | {gap_ms / step_ms:.1%} |"
    )
  return "\n".join(lines)


def parsed(argv: Sequence[str]) -> argparse.Namespace:
  parser = argparse.ArgumentParser(
      prog="python -m benchmarks.host_gap", description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter,
  )
  parser.add_argument("--steps", type=int)
  parser.add_argument("--repeats", type=int)
  parser.add_argument("--batches", default="1,4,8")
  parser.add_argument("--markdown", type=pathlib.Path)
  parser.add_argument("--smoke", action="store_true")
  flags = parser.parse_args(argv)
  flags.steps = flags.steps or (6 if flags.smoke else 24)
  flags.repeats = flags.repeats or (1 if flags.smoke else 2)
  flags.batches = [int(batch) for batch in flags.batches.split(",")]
  return flags


def main(argv: Sequence[str]) -> int:
  flags = parsed(argv)
  load = os.getloadavg()
  with tempfile.TemporaryDirectory() as name:
    # The second engine's programs are the first one's.
    jax.config.update("jax_compilation_cache_dir", f"{name}/programs")
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    folder = pathlib.Path(name) / "model"
    sizes = llama_folder.TINY if flags.smoke else llama_folder.SMOLLM2
    llama_folder.write(folder, sizes)
    rows = list(measured(folder, flags))
    jax.config.update("jax_compilation_cache_dir", None)
  cores = len(os.sched_getaffinity(0))
  said = engine_tables.conditions(load, cores, flags.smoke)
  page = "\n\n".join([*said, table(rows)])
  print(page)
  if flags.markdown:
    flags.markdown.write_text(page + "\n")
  return 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
