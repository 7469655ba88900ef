"""What code made a result: version, source hash, policy file, device kind."""

import functools
import hashlib
import importlib.util
from pathlib import Path

import pdjax
from pdjax.policyfile import spec_of


@functools.cache
def source_hash() -> str:
  """SHA-256 over every Python file of the package and of its kernels."""
  roots = [Path(pdjax.__file__).parent]
  kernels = importlib.util.find_spec("pdjax_kernels")
  if kernels and kernels.submodule_search_locations:
    roots += map(Path, kernels.submodule_search_locations)
  digest = hashlib.sha256()
  for root in roots:
    for path in sorted(root.rglob("*.py")):
      digest.update(path.relative_to(root.parent).as_posix().encode() + b"\0")
      digest.update(path.read_bytes() + b"\0")
  return digest.hexdigest()


def policy_hash(kind: str) -> str:
  """SHA-256 of the file of a `module:factory`; empty for built-in ones."""
  if ":" not in kind:
    return ""
  spec = spec_of(kind.partition(":")[0])
  if spec is None or not spec.origin or not Path(spec.origin).is_file():
    return ""
  return hashlib.sha256(Path(spec.origin).read_bytes()).hexdigest()


def made_by(kind: str, device_kind: str) -> dict[str, str]:
  """What must be the same for a finished cell to be used again."""
  return {
      "version": pdjax.__version__,
      "source_sha256": source_hash(),
      "policy_sha256": policy_hash(kind),
      "device_kind": device_kind,
  }
