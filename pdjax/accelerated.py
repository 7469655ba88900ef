"""Modules that `python -m pdjax.accelerate` has compiled, found on import.

A library is of one module's text, at one path, for one Python; all of them are
in its name or its folder's. So there is none of a module that has been edited
since, which is then read as ever, whatever becomes of the others. What cannot
be loaded is read too. `PDJAX_ACCELERATED=0` leaves all libraries alone.
"""

import hashlib
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

SWITCH = "PDJAX_ACCELERATED"

MODULES = (
    "pdjax.layout", "pdjax.pages", "pdjax.segments",
    *(f"pdjax.schedule.{name}" for name in (
        "admission", "ahead", "batching", "checked", "cost", "decisions",
        "loop", "orders", "outcomes", "placement", "policies", "recovery",
        "routing", "worker", "world",
    )),
    *(f"pdjax.simulate.{name}" for name in (
        "attended", "backend", "costs", "flight", "lane", "links", "rates",
        "stepcosts", "timer", "work",
    )),
)
"""Those that a simulated run spends its time in. Entries are looked at by their
annotations, which compiled ones have as texts: they stay as they are."""

_RECIPE = b"1"
"""Another one where the same text would be compiled to something else."""
_LOADED: set[str] = set()


def folder_of(package: Path) -> Path:
  """Where the libraries of a package in some place are kept, for this
  Python."""
  base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
  home = os.environ.get("PDJAX_CACHE") or Path(base, "pdjax")
  place = hashlib.sha256(os.fsencode(package)).hexdigest()[:12]
  tag = importlib.machinery.EXTENSION_SUFFIXES[0].strip(".")
  return Path(home, "accelerated", f"{place}-{tag}")


def library_of(name: str, source: Path, folder: Path) -> Path:
  """Where a module is once its source, as it is now, has been compiled."""
  text = hashlib.sha256(_RECIPE + source.read_bytes()).hexdigest()
  return folder / f"{name}-{text[:32]}.so"


def source_of(name: str, package: Path) -> Path:
  """Of a module of the package."""
  return package.joinpath(*name.split(".")[1:]).with_suffix(".py")


def loaded() -> list[str]:
  """Modules of this process that are compiled."""
  return sorted(_LOADED)


def install(package: Path) -> None:
  """From now on imports find the libraries of a package, if it has any."""
  folder = folder_of(package)
  if os.environ.get(SWITCH) != "0" and folder.is_dir():
    sys.meta_path.insert(0, _Finder(package, folder))


class _Finder:
  """Knows the modules of which there is a library."""

  def __init__(self, package: Path, folder: Path):
    self._package, self._folder = package, folder

  def find_spec(
      self,
      name: str,
      path: Sequence[str] | None = None,
      target: ModuleType | None = None,
  ) -> importlib.machinery.ModuleSpec | None:
    if name not in MODULES:
      return None
    source = source_of(name, self._package)
    library = library_of(name, source, self._folder)
    if not library.is_file():
      return None
    loader = _Loader(name, str(source), str(library))
    spec = importlib.machinery.ModuleSpec(name, loader, origin=str(source))
    spec.has_location = True
    return spec


class _Loader(importlib.machinery.SourceFileLoader):
  """Of a source and what it has been compiled to."""

  def __init__(self, name: str, source: str, library: str):
    super().__init__(name, source)
    self._compiled = importlib.machinery.ExtensionFileLoader(name, library)

  def create_module(
      self, spec: importlib.machinery.ModuleSpec
  ) -> ModuleType | None:
    own = importlib.machinery.ModuleSpec(
        spec.name, self._compiled, origin=self._compiled.path
    )
    try:
      module = self._compiled.create_module(own)
    except ImportError:
      return None
    _LOADED.add(spec.name)
    return module

  def exec_module(self, module: ModuleType) -> None:
    if module.__name__ not in _LOADED:
      return super().exec_module(module)
    module.__file__ = self.path
    self._compiled.exec_module(module)
