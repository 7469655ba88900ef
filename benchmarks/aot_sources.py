"""What a compiled case depends on besides itself: compiler and sources."""

import ast
import functools
import hashlib
import importlib.metadata
from pathlib import Path

from benchmarks.cases import Case

KERNELS = Path(__file__).resolve().parents[1] / "kernels"


def versions() -> str:
  """Of the compiler."""
  return ", ".join(
      f"{name} {importlib.metadata.version(name)}" for name in ("jax", "libtpu")
  )


@functools.cache
def made_with(case: Case) -> str:
  """The compiler, and a digest of the sources of the case's kernel."""
  folder = case.kernel.removesuffix("_int8")
  digest = hashlib.sha256()
  for path in sorted(_closure(KERNELS / "pdjax_kernels" / folder / "tpu.py")):
    digest.update(path.read_bytes())
  return f"{versions()}, sources {digest.hexdigest()[:12]}"


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
