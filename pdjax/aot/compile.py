"""Compiles programs for a described target, in a process of its own.

A compiler's failed check ends the process, so none of this runs in the
caller's. One JSON object comes in on standard input, {"target", "run",
"worker", "shapes"}, and a line for each shape goes out on standard output as
soon as it is done.
"""

import dataclasses
import functools
import json
import os
import re
import sys
import time
from collections.abc import Callable
from importlib import resources
from typing import Any

QUIET = {
    "tpu": {
        "JAX_PLATFORMS": "cpu",
        "TPU_SKIP_MDS_QUERY": "1",
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
        "TPU_WORKER_HOSTNAMES": "localhost",
    },
    "cuda": {"JAX_PLATFORMS": "cpu", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1"},
}
"""Environment in which a compiler looks for no device of its own."""

_WHOLE_COPY = re.compile(
    r"= \(?\w+\[([\d,]+)\]\S*(?: \S+\))?"
    r" (?:copy|copy-start|transpose|convert)\("
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Compiled:
  """What the compiler says of one program, per device."""

  shape: str
  kind: str
  seconds: float
  refused: str = ""
  """Why it does not compile; then the rest is 0."""
  argument_bytes: int = 0
  output_bytes: int = 0
  """Beyond those that overwrite arguments."""
  temp_bytes: int = 0
  code_bytes: int = 0
  pool_bytes: int = 0
  """The page pool among the arguments."""
  whole_copies: int = 0
  """Copies of an array of the pool's shape."""

  @classmethod
  def of(
      cls, shape: str, kind: str, answer: dict[str, Any] | str
  ) -> "Compiled":
    """From what its process answered, or how that ended."""
    if isinstance(answer, str):
      return cls(shape=shape, kind=kind, seconds=0.0, refused=answer)
    return cls(shape=shape, kind=kind, **answer)

  @property
  def out_of_memory(self) -> bool:
    return "RESOURCE_EXHAUSTED" in self.refused

  @property
  def needed_bytes(self) -> int:
    return self.argument_bytes + self.output_bytes + self.temp_bytes


def main() -> None:
  """Serves one request from standard input."""
  import jax

  job = json.load(sys.stdin)
  programs, shapes = _programs(job)
  pool_bytes = programs.config.pool_bytes // programs.mesh.size
  for shape in shapes:
    lower = functools.partial(programs.lowered, shape)
    answer = answer_of(lower, pool_bytes, _pool_sizes(programs))
    print(json.dumps(answer), flush=True)
    jax.clear_caches()


def _programs(job: dict[str, Any]):
  from pdjax import buckets, schema
  from pdjax import mesh as meshes
  from pdjax.aot.target import target
  from pdjax.engine import capacity, setup
  from pdjax.models.sizes import spec_of
  from pdjax.schedule.setup import worker_pools

  run, worker = schema.run_from_tree(job["run"]), job["worker"]
  spec = spec_of(run.model)
  shapes = [buckets.Shape(**shape) for shape in job["shapes"]]
  mesh = meshes.make_mesh(
      devices(target(job["target"])), worker_pools(run)[worker].tp
  )
  programs = setup.programs_of(
      run, _shapes_only(run, spec, mesh), job["R"],
      capacity.pool_pages_of(run)[worker], (),
  )
  return programs, shapes


def _shapes_only(run, spec, mesh):
  """The model with shapes in the place of weights."""
  import jax

  from pdjax import mesh as meshes
  from pdjax.engine.kernels import kernels_of
  from pdjax.models.transformer import Transformer

  return Transformer(
      spec, mesh,
      lambda weight: jax.ShapeDtypeStruct(
          weight.shape, run.model.dtype,
          sharding=meshes.sharding(mesh, weight.axes),
      ),
      kernels_of(run, spec, mesh),
  )


def devices(target) -> list:
  """Descriptions of devices that need not be there."""
  from jax.experimental import topologies

  if target.platform == "tpu":
    topology = topologies.get_topology_desc(
        platform="tpu", topology_name=target.name
    )
  else:
    described = resources.files("pdjax.aot") / "gpus" / f"{target.kind}.txtpb"
    topology = topologies.get_topology_desc(
        platform="cuda", topology_name="",
        target_config=described.read_text(),
        topology=f"1x1x{target.num_chips}",
    )
  return list(topology.devices)


def answer_of(
    lower: Callable[[], Any], pool_bytes: int, sizes: set[tuple[int, ...]]
) -> dict[str, Any]:
  """Fields of a `Compiled`, beside its name, of what `lower` gives.

  `sizes` are shapes of the pool, of which no copy should be made.
  """
  started = time.perf_counter()
  try:
    program = lower().compile()
  except Exception as error:  # whatever a compiler refuses with
    return {
        "refused": _reason(error), "seconds": time.perf_counter() - started
    }
  memory = program.memory_analysis()
  return {
      "seconds": time.perf_counter() - started,
      "argument_bytes": memory.argument_size_in_bytes,
      "output_bytes": memory.output_size_in_bytes - memory.alias_size_in_bytes,
      "temp_bytes": memory.temp_size_in_bytes,
      "code_bytes": memory.generated_code_size_in_bytes,
      "pool_bytes": pool_bytes,
      "whole_copies": whole_copies(program.as_text(), sizes),
  }


def _pool_sizes(programs) -> set[tuple[int, ...]]:
  """A device's part of the pool, as it comes and as the layers see it."""
  L, P, two, K, C, H = programs.config.shape
  K //= programs.mesh.size
  return {(L, P, two, K, C, H), (L * P, two, K, C, H)}


def whole_copies(text: str, sizes: set[tuple[int, ...]]) -> int:
  """Instructions of a program that copy an array of one of the sizes.

  >>> whole_copies("%c = f32[4,8]{1,0} copy(f32[4,8]{0,1} %p)", {(4, 8)})
  1
  """
  found = _WHOLE_COPY.findall(text)
  return sum(tuple(map(int, dims.split(","))) in sizes for dims in found)


def _reason(error: Exception) -> str:
  """The first line that says something."""
  lines = [line.strip() for line in str(error).splitlines() if line.strip()]
  return f"{type(error).__name__}: {lines[0] if lines else ''}"[:400]


if __name__ == "__main__":
  os.environ.setdefault("JAX_PLATFORMS", "cpu")
  main()
