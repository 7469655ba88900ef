"""Does the simulated vLLM do what a real one did, request by request?

    python experiments/vllm_replay.py --data=DATA

serves one published vLLM run again under `vllm_v1`: the arrivals, lengths and
prefixes of its requests, and its KV capacity. Prints mean and p99 of TTFT, TPOT
and end-to-end latency, and the makespan, measured beside simulated, twice: from
first principles, and with the scalars given. With --out it writes the tables as
a document (docs/fidelity_vllm.md). Any run published in the same three files,
in DATA/measured, can be named: --name, with the --preset and the --chip that it
was measured with, and --scalar=NAME=VALUE for each scalar; without, scalars are
those fitted to chips like it, if there are any. Seconds.

Expected, for the run named by default: from first principles all means within
12 %, with three scalars within 2 %.
"""

import argparse
import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pdjax import inputfile
from pdjax.calibrate.published.vllm_run import VllmRun, read
from pdjax.cli import argtypes
from pdjax.config import ConfigError
from pdjax.fieldtypes import near
from pdjax.metrics.requests import RequestTable
from pdjax.simulate.chip import Chip
from pdjax.simulate.chips import chip
from pdjax.simulate.fitted import fitted_for
from pdjax.simulate.scalars import Scalars

NAME = "vllm_rtx4090_llama31_8b"
SCALARS = {
    "matmul_efficiency": 0.87, "hbm_efficiency": 0.92, "kv_efficiency": 0.9
}
"""The first and the last are set by hand on this run: the card exceeds its
sheet's clock. What it reaches of its memory's bandwidth is published (Luo et
al., arXiv 2402.13499)."""
LATENCIES = {"ttft": "TTFT", "tpot": "TPOT", "e2el": "end to end"}

INTRODUCTION = """\
# Fidelity: one real vLLM run, request by request

Made by `python experiments/vllm_replay.py --data=DATA --out=FILE`; not edited
by hand. vLLM 0.19 served 300 requests of ShareGPT's lengths, Poisson at 10 a
second, with Llama-3.1-8B in bf16 on one RTX 4090: far more than it can, so KV
memory binds and requests are preempted (casys-kaist/LLMServingSim). The
simulator gets arrivals, lengths, prefixes and the 41,408 tokens of KV cache,
and decides by `vllm_v1`; TTFT counts from when the engine queued a request.

vLLM ran with asynchronous scheduling, so the host's work of a step is taken to
run beside the kernels of the one before (`engine.dispatch_ahead=1`). Two of
the three scalars were set on this very run, so its means say little; that the
tails, the makespan and every percentile follow says that memory, batching and
preemption are right. From first principles, with no scalar touched, the
assumptions of `pdjax/simulate/scalars.py` are too slow for this card, whose
clock exceeds its sheet's and whose memory gives more of its peak than those of
other chips.
"""


def main() -> int:
  given = _parser().parse_args()
  folder = given.data / "measured"
  try:
    _check_files(folder, given.name)
    scalars, rest_on = _scalars(given.scalar), "as said by --scalar"
    real = read(folder, given.name, preset=given.preset, chip=given.chip)
    if scalars is None:
      scalars, rest_on = scalars_for(chip(given.chip), given.name)
    lines = [*document(real, scalars, rest_on)]
  except KeyError as error:
    print(f"--name: {given.name}: lacks {error}", file=sys.stderr)
    return 2
  except (ConfigError, OSError, ValueError, TypeError) as error:
    print(f"experiments/vllm_replay.py: {error}", file=sys.stderr)
    return 2
  print("\n".join(lines))
  if given.out:
    usual = given.name == NAME and not given.scalar
    first = INTRODUCTION if usual else f"# Fidelity: {given.name}\n"
    given.out.write_text(first + "\n" + "\n".join(lines) + "\n")
    print(f"document: {given.out}")
  return 0


def _parser() -> argparse.ArgumentParser:
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument(
      "--data", type=argtypes.data_folder("measured/"), required=True,
      help=argtypes.DATA_HELP,
  )
  parser.add_argument(
      "--name", default=NAME,
      help="the run: NAME.json, NAME.requests.csv and NAME.hash_ids.jsonl in"
      " DATA/measured; without, %(default)s",
  )
  parser.add_argument(
      "--preset", default="llama-3.1-8b", help="its model; without, %(default)s"
  )
  parser.add_argument(
      "--chip", default="rtx-4090",
      help="that it was measured on; another is refused; without, %(default)s",
  )
  parser.add_argument(
      "--scalar", action="append", default=[], metavar="NAME=VALUE",
      help="one of pdjax/simulate/scalars.py; may be given again",
  )
  parser.add_argument(
      "--out", type=argtypes.output_file, help="where the document goes"
  )
  return parser


def _check_files(folder: Path, name: str) -> None:
  """Raises ValueError for the first of a run's files that cannot be read."""
  for suffix in ("json", "requests.csv", "hash_ids.jsonl"):
    path = folder / f"{name}.{suffix}"
    if reason := inputfile.refusal(str(path)):
      raise ValueError(f"--data, --name: {path}: {reason}")


def scalars_for(on: Chip, name: str) -> tuple[Scalars, str]:
  """Those of its family, and what they rest on, in words."""
  if on.family == chip("rtx-4090").family:
    run = "this very run, so its means say little" if name == NAME else NAME
    return Scalars(**SCALARS), (
        "hbm_efficiency is published (Luo et al., arXiv 2402.13499), the other"
        f" two are set by hand on {run}"
    )
  try:
    fitted = fitted_for(on)
  except ConfigError:
    return Scalars(), f"nothing is fitted to chips like {on.name}"
  return fitted.scalars, fitted.accuracy


def _scalars(said: list[str]) -> Scalars | None:
  """What --scalar says; None where it says nothing."""
  names = [field.name for field in dataclasses.fields(Scalars)]
  values: dict[str, float] = {}
  for text in said:
    name, equals, value = text.partition("=")
    if not equals:
      raise ValueError(f"--scalar={text}: expected NAME=VALUE")
    if name not in names:
      raise ValueError(
          f"--scalar={text}: no scalar {name!r}{near(name, names)}; known:"
          f" {', '.join(names)}"
      )
    if name in values:
      raise ValueError(f"--scalar={text}: {name} is given twice")
    try:
      values[name] = float(value)
    except ValueError:
      raise ValueError(
          f"--scalar={text}: expected a number, got {value!r}"
      ) from None
  return Scalars(**values) if said else None


def document(real: VllmRun, scalars: Scalars, rest_on: str) -> Iterator[str]:
  """A table for each cost model."""
  changed = {
      field.name: value
      for field in dataclasses.fields(Scalars)
      if (value := getattr(scalars, field.name)) != field.default
  }
  yield f"Measured: {real.served}. Simulated: {_simulated(real)}."
  yield ""
  yield from _table("First principles", real, None)
  yield ""
  if not changed:
    yield f"No table with other scalars: {rest_on}."
    return
  words = ", ".join(f"{name} {value:g}" for name, value in changed.items())
  yield from _table(f"With {words}", real, scalars, rest_on)


def _simulated(real: VllmRun) -> str:
  cluster = real.run.cluster
  return f"{real.run.model.preset} on {cluster.chip}, {cluster.split}"


def _table(
    title: str, real: VllmRun, scalars: Scalars | None, rest_on: str = ""
) -> Iterator[str]:
  table = real.simulated(scalars)
  yield f"## {title}"
  yield ""
  if rest_on:
    yield f"Scalars: {rest_on}."
    yield ""
  yield "| figure | measured | simulated | error |"
  yield "|---|---|---|---|"
  for name, theirs, ours in figures(real, table):
    yield f"| {name} | {theirs:.2f} | {ours:.2f} | {ours / theirs - 1:+.1%} |"
  yield ""
  yield (
      f"Simulated: {int(table['preemptions'].sum())} preemptions,"
      f" {int(table['recomputed_tokens'].sum()):,} tokens recomputed,"
      f" {table['reused_tokens'].sum() / table['prompt_tokens'].sum():.1%} of"
      " prompt tokens found in the prefix cache. The published run does not"
      " state its own."
  )


def figures(
    real: VllmRun, table: RequestTable
) -> Iterator[tuple[str, float, float]]:
  """(name, measured, simulated); latencies in milliseconds."""
  for metric, word in LATENCIES.items():
    ours_ms = np.ma.compressed(table[f"{metric}_ns"]) / 1e6
    theirs_ms = real.measured_ms[metric]
    yield f"{word}, mean (ms)", float(theirs_ms.mean()), float(ours_ms.mean())
    for at in (50, 90, 99):
      theirs, ours = (
          float(np.percentile(values, at)) for values in (theirs_ms, ours_ms)
      )
      yield f"{word}, p{at} (ms)", theirs, ours
  yield "makespan (s)", real.makespan_s, table.end_ns / 1e9


if __name__ == "__main__":
  sys.exit(main())
