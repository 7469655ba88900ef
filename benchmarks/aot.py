"""Compiles cases for hardware that is not there, and looks at what came out.

The compilers abort the process they run in when a check fails, so cases are
compiled in a subprocess, some twenty in each, which is started again behind
a case that killed it.

    JAX is told about the target by a topology description; libtpu (extra
    `aot-tpu`) holds the TPU compiler, the CUDA plugin the one for GPUs.
"""

import dataclasses
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.cases import Case, program

ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_STDERR_LOG_LEVEL": "3",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "XLA_FLAGS": "",
}

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


def missing(target: str) -> str | None:
  """What has to be installed before this target can be compiled for."""
  if ":" in target and importlib.util.find_spec("libtpu") is None:
    return "no libtpu: pip install 'pdjax[aot-tpu]'"
  return None


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
  return {**os.environ, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join(paths)}


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
  where = jax.sharding.SingleDeviceSharding(_device(case.target))
  arguments = [
      jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=where)
      for x in made.arguments
  ]
  compiled = (
      jax.jit(made.call, donate_argnums=made.donated, out_shardings=where)
      .lower(*arguments)
      .compile()
  )
  cache = next(x for x in arguments if x.shape == case.cache_shape)
  return {
      "seconds": time.perf_counter() - began,
      "temp_bytes": compiled.memory_analysis().temp_size_in_bytes,
      "cache_bytes": cache.size * cache.dtype.itemsize,
      "copies": copies_of(case.cache_shape, compiled.as_text()),
  }


def _device(target: str):
  from jax.experimental import topologies

  return topologies.get_topology_desc(
      platform="tpu", topology_name=target
  ).devices[0]


_MAKERS = "copy|transpose|convert|fusion|copy-start|pad|broadcast"


def copies_of(shape: tuple[int, ...], hlo: str) -> int:
  """Instructions of the program that write an array of that shape anew."""
  dims = ",".join(map(str, shape))
  return len(re.findall(rf"= \(?\w+\[{dims}\]\S* ({_MAKERS})\(", hlo))
