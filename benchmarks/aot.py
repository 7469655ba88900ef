"""Compiles cases for hardware that is not there, and looks at what came out.

Some twenty cases to a process, which is started again behind a case that
ended it. libtpu (extra `aot-tpu`) holds the TPU compiler, the CUDA plugin the
one for GPUs.
"""

import dataclasses
import functools
import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.cases import Case, program
from pdjax.aot.compile import QUIET, Compiled, answer_of, devices
from pdjax.aot.process import Process
from pdjax.aot.target import target

ROOT = Path(__file__).resolve().parents[1]

COMMAND = [sys.executable, "-m", "benchmarks.aot"]

TIMEOUT_S = 600.0
"""For one case, which takes seconds."""

LIMIT = 0.05
"""Of the cache's size: temporaries below it are no copy of the cache."""


def compiled(cases: Iterable[Case]) -> Iterator[tuple[Case, Compiled]]:
  """What becomes of each case, in order, as it happens."""
  cases = list(cases)
  process = Process(
      command=COMMAND, environment=_environment(), timeout_s=TIMEOUT_S,
      at_a_time=20,
  )
  answers = process.answers(
      cases, lambda some: [dataclasses.asdict(case) for case in some]
  )
  for case, answer in zip(cases, answers, strict=True):
    yield case, Compiled.of(str(case), case.kernel, answer)


def sound(made: Compiled) -> bool:
  """Compiled, without a copy of the cache or temporaries of its order."""
  return not made.refused and not made.whole_copies and share(made) < LIMIT


def share(made: Compiled) -> float:
  """Temporaries as a part of the cache."""
  return made.temp_bytes / max(1, made.pool_bytes)


def _environment() -> dict[str, str]:
  """Of the process: no devices but the described ones, our sources first."""
  paths = [str(ROOT), str(ROOT / "kernels"), os.environ.get("PYTHONPATH", "")]
  return {
      **QUIET["tpu"], **QUIET["cuda"], "PYTHONPATH": os.pathsep.join(paths),
      "XLA_FLAGS": "", "TF_CPP_MIN_LOG_LEVEL": "3",
  }


def main() -> None:
  """The process: cases from standard input, a line of results each."""
  for fields in json.load(sys.stdin):
    case = Case(**fields)
    answer = answer_of(
        functools.partial(_lowered, case), case.cache_bytes, {case.cache_shape}
    )
    print(json.dumps(answer), flush=True)


def _lowered(case: Case):
  import jax

  made = program(case)
  where = jax.sharding.SingleDeviceSharding(devices(target(case.target))[0])
  arguments = [
      jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=where)
      for x in made.arguments
  ]
  return jax.jit(
      made.call, donate_argnums=made.donated, out_shardings=where
  ).lower(*arguments)


if __name__ == "__main__":
  main()
