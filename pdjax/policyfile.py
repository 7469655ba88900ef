"""Policies of one's own: the module that `module:factory` names.

It is looked for as any import is, then in the current folder; `examples.x` also
names the package's own example x, wherever one stands.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from pdjax.config import ConfigError
from pdjax.userscode import users_code

_EXAMPLES = "examples"


def factory_of(kind: str) -> Callable[..., Any]:
  """What `module:factory` names.

  Raises:
    ConfigError: there is no such module or factory, or importing it fails.
  """
  module_name, _, factory = kind.partition(":")
  here = str(Path.cwd())
  if here not in sys.path:
    sys.path.append(here)
  with users_code(f"strategy.kind: {kind!r}"):
    found = getattr(_module(module_name), factory)
  if not callable(found):
    raise ConfigError([f"strategy.kind: {kind!r} is no factory: not callable"])
  return found


def spec_of(module_name: str) -> ModuleSpec | None:
  """Where a policy's module is; None if nowhere."""
  return _importable(module_name) or _example(module_name)


def _module(name: str) -> ModuleType:
  spec = None if _importable(name) else _example(name)
  if spec is None or spec.loader is None:
    return importlib.import_module(name)
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  sys.modules[name] = module
  return module


def _importable(name: str) -> ModuleSpec | None:
  try:
    return importlib.util.find_spec(name)
  except (ImportError, ValueError):  # none, or one without a file
    return None


def _example(name: str) -> ModuleSpec | None:
  package, _, stem = name.partition(".")
  inside = Path(__file__).parent
  if package == _EXAMPLES:
    for folder in (inside.parent, inside):  # in a checkout, or installed
      path = folder / _EXAMPLES / f"{stem}.py"
      if path.is_file():
        return importlib.util.spec_from_file_location(name, path)
  return None
