"""Imports point one way, and most of the package never sees JAX.

Read from the syntax trees, so imports inside functions count too.
"""

import ast
import functools
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

TELLS = {"unknown", "fieldtypes", "inputfile", "userscode", "digits"}
"""What says in words what is wrong with a value, a file, a user's code, and
numbers in words."""
BASE = {
    "config", "layout", "request", "entry", "segments", "eventcolumns",
    "events", "clients", "window", "tracks", "faults", "policyfile",
    "accelerated",
    *TELLS,
}
SIZES = {"dtypes", "models.spec", "models.presets", "models.sizes", "memory"}
PASSES = {"buckets", "passlimits"}
"""What an engine compiles for, without the engine."""
POOLS = {"pages", "pagenames", "hosttier", "prefixcache"}
MODEL_FILES = {
    f"models.{name}"
    for name in (
        "weight", "declared", "jsonfile", "hf_config", "hf_names", "hf_folder",
        "safetensors_file", "gguf_file", "spec_json", "orbax_folder", "fetch",
        "checkpoint", "sizes", "size_ranges", "unfit",
    )
}
"""What a model is and where its weights lie, before any is read."""
ALLOWED: dict[str, set[str]] = {
    # The vocabulary, and the config's schema over it.
    "config": {"layout"},
    "layout": set(),
    "accelerated": set(),
    "dtypes": set(),
    "request": set(),
    "entry": set(),
    "segments": {"entry"},
    "events": {"entry", "eventcolumns", "request", "segments"},
    "clients": {"events"},
    "window": {"config"},
    "tracks": {"config"},
    "marks": {"tracks"},
    "faults": {"config", "events", "request"},
    "unknown": set(),
    "digits": set(),
    "fieldtypes": {"unknown"},
    "inputfile": {"fieldtypes"},
    "userscode": {"config"},
    "policyfile": {"config", "userscode"},
    "schema": {"config", *TELLS},
    "literals": {"config", "schema", *TELLS},
    "reads": {"config", "ranges", "window", *TELLS},
    "ranges": {"config", *TELLS},
    "checks": {"config", "faultchecks", "ranges", "reads", *TELLS},
    "faultchecks": {"config", "ranges", "reads", *TELLS},
    "eventcolumns": {"entry", "request", "segments"},
    "eventfile": BASE,
    # Host arithmetic.
    "pages": set(),
    "pagenames": {"request"},
    "hosttier": set(),
    "prefixcache": {"hosttier", "pages"},
    "models.rope": set(),
    "models.spec": {"models.rope"},
    "models.presets": {"config", "models.rope", "models.spec", *TELLS},
    **{
        name: {
            "config", "ranges", "models.rope", "models.spec", "models.presets",
            *TELLS, *MODEL_FILES,
        }
        for name in MODEL_FILES
    },
    "memory": {"config", "dtypes", "layout", "models.spec"},
    "buckets": set(),
    "passlimits": {*BASE, "buckets", "schedule"},
    "workload": {*BASE, "reads"},
    "metrics": BASE,
    "report": {
        *BASE, "metrics", "diagnose", "eventfile", "schedule", "timeline",
    },
    "timeline": {*BASE, "schedule"},
    "foreign": {*BASE, "metrics", "eventfile"},
    "published": {*BASE, "metrics"},
    "compare": {*BASE, "metrics", "published", "report"},
    "diagnose": {*BASE, "metrics", "foreign"},
    "schedule": {*BASE, *POOLS},
    "simulate": {*BASE, *SIZES, *POOLS, *PASSES, "schedule"},
    "utilisation": {*BASE, *SIZES, "metrics", "schedule", "simulate"},
    "calibrate": {
        *BASE, *SIZES, "metrics", "schedule", "simulate", "workload", "engine",
    },
    # Devices.
    "mesh": {"config"},
    "ops": {"pdjax_kernels"},
    "kv": {"config", "mesh", "ops"},
    "models": {
        "config", "kv", "mesh", "ops", "models.rope", "models.spec",
        "models.presets", *TELLS, *MODEL_FILES,
    },
    "transfer": {"config", "kv", "mesh", "marks", "tracks"},
    "rounded": {"kv", "mesh", "ops"},
    "engine": {
        *BASE, *SIZES, *POOLS, *PASSES, "schedule", "workload", "mesh", "ops",
        "kv", "models", "marks", "transfer", "rounded",
    },
    "aot": {
        *BASE, *SIZES, *PASSES, "schema", "fieldtypes", "schedule", "workload",
        "mesh", "models", "engine", "simulate",
    },
    # Experiments.
    "sweep": {*BASE, "schema", "literals", "reads", "checks"},
    "search": {*BASE, "metrics"},
    "results": {*BASE, "metrics", "schema", "report", "sweep"},
}
"""What each part may import besides itself. `cli` may import everything."""

JAX_FREE = {
    "config", "layout", "dtypes", "request", "entry", "segments", "events",
    "clients", "window", "tracks", "faults", "accelerated", "eventcolumns",
    "eventfile", *TELLS, *PASSES, "policyfile", "schema",
    "literals", "reads", "ranges", "checks", "faultchecks", *POOLS,
    "models.rope", "models.spec",
    "models.presets", *MODEL_FILES, "memory", "workload", "metrics", "report",
    "foreign", "published", "compare", "results", "schedule", "simulate",
    "sweep", "search", "timeline", "utilisation", "diagnose",
}
USES_JAX = {"jax", "jaxlib", "flax", "optax", "orbax", "pdjax_kernels"}


def sources() -> dict[str, Path]:
  """Path of each module of the package by its name without `pdjax.`."""
  found = {}
  for path in sorted((ROOT / "pdjax").rglob("*.py")):
    parts = path.relative_to(ROOT / "pdjax").with_suffix("").parts
    found[".".join(p for p in parts if p != "__init__")] = path
  return found


SOURCES = sources()


def part_of(module: str) -> str:
  """`models.presets` is a part of its own, `schedule.loop` is of schedule."""
  return module if module in ALLOWED else module.partition(".")[0]


@functools.cache
def imports(path: Path) -> frozenset[str]:
  """Full names of all modules a file imports, at any depth."""
  names = set()
  for node in ast.walk(ast.parse(path.read_text())):
    if isinstance(node, ast.Import):
      names |= {alias.name for alias in node.names}
    elif isinstance(node, ast.ImportFrom):
      assert not node.level, f"{path}: relative import"
      assert node.module is not None
      for alias in node.names:
        inner = f"{node.module}.{alias.name}"
        is_module = inner.removeprefix("pdjax.") in SOURCES
        names.add(inner if is_module else node.module)
  return frozenset(names)


def own_imports(path: Path) -> set[str]:
  """Modules of the package that a file imports, without `pdjax.`."""
  return {
      name.removeprefix("pdjax.")
      for name in imports(path)
      if name.startswith("pdjax.")
  }


@pytest.mark.parametrize("module", sorted(m for m in SOURCES if m))
def test_imports_point_one_way(module):
  part = part_of(module)
  commands = (
      "accelerate", "cli", "experiment", "export", "fidelity", "generate",
      "preflight", "replay",
  )
  if part in commands or module.endswith(".__main__"):
    return
  allowed = ALLOWED[part] | {part}
  seen = {part_of(name) for name in own_imports(SOURCES[module])}
  if any(n.startswith("pdjax_kernels") for n in imports(SOURCES[module])):
    seen.add("pdjax_kernels")
  assert seen <= allowed, f"{module} imports {sorted(seen - allowed)}"


@pytest.mark.parametrize("module", sorted(SOURCES))
def test_jax_free_parts_never_import_jax(module):
  if part_of(module) not in JAX_FREE or module.endswith(".__main__"):
    return
  tops = {name.partition(".")[0] for name in imports(SOURCES[module])}
  assert not tops & USES_JAX, module
  parts = {part_of(name) for name in own_imports(SOURCES[module])}
  assert parts <= JAX_FREE, f"{module} reaches JAX through {parts - JAX_FREE}"


def test_kernels_import_nothing_of_the_package():
  for path in (ROOT / "kernels").rglob("*.py"):
    tops = {name.partition(".")[0] for name in imports(path)}
    assert "pdjax" not in tops, path
    outside = tops - {"jax", "numpy", "pdjax_kernels", *sys.stdlib_module_names}
    assert not outside, f"{path} imports {sorted(outside)}"


def test_every_module_says_what_it_is():
  for name, path in SOURCES.items():
    assert ast.get_docstring(ast.parse(path.read_text())), name


def test_help_loads_no_library():
  """`--help` stays fast because nothing heavy is imported for it."""
  code = (
      "import sys; from pdjax.cli.experiment import main;"
      "assert main(['--help']) == 0;"
      "heavy = {'jax', 'numpy', 'pyarrow', 'ml_collections', 'matplotlib'};"
      "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules)"
      " else 0)"
  )
  done = subprocess.run(
      [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT,
      check=False,
  )
  assert done.returncode == 0, done.stderr


def test_command_line_loads_no_jax():
  """A simulated run must work where JAX does not."""
  modules = [
      f"pdjax.{name}"
      for name in SOURCES
      if part_of(name) == "cli"
      and name not in ("cli.measured", "cli.profiled", "cli.calibrating")
  ]
  code = f"import sys, {', '.join(modules)}; sys.exit('jax' in sys.modules)"
  done = subprocess.run(
      [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT,
      check=False,
  )
  assert done.returncode == 0, done.stderr
