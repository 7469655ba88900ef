"""Compiles cases for hardware that is not there, and looks at what came out.

The compilers abort the process they run in when a check fails, so cases are
compiled in a subprocess, some twenty in each, which is started again behind
a case that killed it.

libtpu (extra `aot-tpu`) holds the TPU compiler, the CUDA plugin the one for
GPUs.
"""

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.cases import Case, program
from pdjax.aot.compile import QUIET, devices, whole_copies
from pdjax.aot.target import target

ROOT = Path(__file__).resolve().parents[1]

_PROGRAM = "from benchmarks import aot; aot.main()"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Compiled:
  """What a compiler made of a case. Nothing was executed."""

  case: Case
  reason: str | None = None
  """Why it did not compile."""
  seconds: float = 0.0
  temp_bytes: int = 0
  cache_bytes: int = 0
  copies: int = 0
  """Instructions that make another array of the cache's shape."""

  @property
  def sound(self) -> bool:
    """Compiled, without a copy of the cache or temporaries of its order."""
    return (
        self.reason is None
        and self.copies == 0
        and self.temp_bytes < 0.05 * self.cache_bytes
    )


def compile_all(cases: Iterable[Case], at_a_time: int = 20) -> list[Compiled]:
  """Compiles in subprocesses; results in the order of the cases."""
  left, done = list(cases), []
  while left:
    made = list(_subprocess(left[:at_a_time]))
    done += made
    left = left[len(made) :]
  return done


def _environment() -> dict[str, str]:
  """Of the subprocess: no devices but the described ones, our sources first."""
  paths = [str(ROOT), str(ROOT / "kernels"), os.environ.get("PYTHONPATH", "")]
  return {
      **os.environ, **QUIET["tpu"], **QUIET["cuda"],
      "PYTHONPATH": os.pathsep.join(paths), "XLA_FLAGS": "",
      "TF_CPP_MIN_LOG_LEVEL": "3",
  }


def _subprocess(cases: Sequence[Case]) -> Iterator[Compiled]:
  """Results up to the first case that ends the process, that one included."""
  asked = json.dumps([dataclasses.asdict(case) for case in cases])
  ran = subprocess.run(
      [sys.executable, "-c", _PROGRAM], input=asked, text=True, cwd=ROOT,
      capture_output=True, env=_environment(), check=False,
  )
  lines = [x for x in ran.stdout.splitlines() if x.startswith("{")]
  for case, line in zip(cases, lines, strict=False):
    yield Compiled(case=case, **json.loads(line))
  if len(lines) < len(cases):
    last = [x for x in ran.stderr.splitlines() if x.strip()][-1:]
    yield Compiled(
        case=cases[len(lines)],
        reason=f"ended the compiler ({ran.returncode}): {' '.join(last)[:200]}",
    )


def main() -> None:
  """The subprocess: cases from stdin, a line of results each."""
  for fields in json.load(sys.stdin):
    try:
      result = _compile(Case(**fields))
    except Exception as error:
      result = {"reason": " ".join(str(error).split())[:300]}
    print(json.dumps(result), flush=True)


def _compile(case: Case) -> dict[str, float]:
  import jax

  made = program(case)
  began = time.perf_counter()
  where = jax.sharding.SingleDeviceSharding(
      devices(target(case.target))[0]
  )
  arguments = [
      jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=where)
      for x in made.arguments
  ]
  compiled = (
      jax.jit(made.call, donate_argnums=made.donated, out_shardings=where)
      .lower(*arguments)
      .compile()
  )
  memory, text = compiled.memory_analysis(), compiled.as_text()
  assert memory is not None and text is not None
  cache = next(x for x in arguments if x.shape == case.cache_shape)
  return {
      "seconds": time.perf_counter() - began,
      "temp_bytes": memory.temp_size_in_bytes,
      "cache_bytes": cache.size * cache.dtype.itemsize,
      "copies": whole_copies(text, {case.cache_shape}),
  }
