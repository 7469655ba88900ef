"""What a compiled case depends on besides itself: compiler and sources."""

import ast
import functools
import hashlib
import importlib.metadata
from pathlib import Path

from benchmarks.cases import Case

KERNELS = Path(__file__).resolve().parents[1] / "kernels"


_COMPILERS = {"tpu": "libtpu", "cuda": "jax-cuda12-pjrt"}

_ON_GPU = {"kv_write": "../xla.py", "kv_move": "reference.py"}
"""What XLA makes of the contract; the other kernels are Triton's."""


def versions(platform: str = "tpu") -> str:
  """Of the compiler."""
  names = ("jax", _COMPILERS[platform])
  return ", ".join(
      f"{name} {importlib.metadata.version(name)}" for name in names
  )


@functools.cache
def made_with(case: Case) -> str:
  """The compiler, and a digest of the sources of the case's kernel."""
  folder = case.kernel.removesuffix("_int8")
  digest = hashlib.sha256()
  file = "tpu.py" if case.on_tpu else _ON_GPU.get(folder, "triton.py")
  source = (KERNELS / "pdjax_kernels" / folder / file).resolve()
  for path in sorted(_closure(source)):
    digest.update(path.read_bytes())
  compiler = versions("tpu" if case.on_tpu else "cuda")
  return f"{compiler}, sources {digest.hexdigest()[:12]}"


def _closure(path: Path) -> set[Path]:
  """A module of the kernels and all that it imports of them."""
  found, left = set(), [path]
  while left:
    path = left.pop()
    if path not in found:
      found.add(path)
      left += _imports(path)
  return found


def _imports(path: Path) -> list[Path]:
  """`from pdjax_kernels.x import y` names x, or y where x is a folder."""
  places = []
  for node in ast.walk(ast.parse(path.read_text())):
    if isinstance(node, ast.ImportFrom) and node.module:
      place = KERNELS.joinpath(*node.module.split("."))
      places += [place, *(place / alias.name for alias in node.names)]
  files = (place.with_suffix(".py") for place in places)
  return [file for file in files if file.is_file() and KERNELS in file.parents]
