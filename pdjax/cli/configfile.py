"""Finding and reading config files.

A config file is Python with `get_config()`, which returns an
`ml_collections.ConfigDict` or a plain dict; its docstring says what question
it answers. It is looked for as a path, then among the package's own configs.
"""

import ast
import importlib.util
import os
import traceback
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pdjax import inputfile
from pdjax.config import ConfigError
from pdjax.fieldtypes import near, shown
from pdjax.schema import Tree
from pdjax.userscode import process_goes_on, raised

_DEEPEST = 30
"""Dicts within dicts; a config has about five."""


def packaged_folders() -> list[Path]:
  """Where the package's own configs are: installed, or in the checkout."""
  checkout = Path(__file__).parents[2] / "configs"
  if (checkout / "__init__.py").is_file():
    return [checkout]
  spec = importlib.util.find_spec("pdjax.configs")
  places = spec.submodule_search_locations if spec else None
  return [Path(place) for place in places or ()]


def configs_in(folder: Path) -> list[Path]:
  """The config files of a folder, by name."""
  try:
    names = sorted(os.listdir(folder))
  except OSError:
    return []
  paths = [folder / name for name in names if name.endswith(".py")]
  return [path for path in paths if path.name[0] not in "._"]


def find(name: str) -> Path:
  """The file that `--config=name` means.

  Raises:
    ConfigError: there is none.
  """
  given = inputfile.path_of(name)
  stem = given.name.removesuffix(".py")
  # 'x' and 'configs/x' also name the packaged x, wherever one stands.
  owned = given.parent in (Path("."), Path("configs"))
  folders = [given.parent, *(packaged_folders() if owned else [])]
  for folder in folders:
    for path in (folder / given.name, folder / f"{stem}.py"):
      if _refusal(path) is None:
        return path
  raise ConfigError([f"--config={name}: {_why_not(given, folders)}"])


def _refusal(path: Path) -> str | None:
  return inputfile.refusal(str(path), inputfile.READ_WHOLE_BYTES)


def _why_not(given: Path, folders: list[Path]) -> str:
  for path in (given.parent / f"{given.name}.py", given):
    reason = _refusal(path)
    if reason and not reason.startswith(inputfile.MISSING):
      return reason
  known = [path.stem for folder in folders for path in configs_in(folder)]
  wanted = near(given.name.removesuffix(".py"), known)
  return f"no such file{wanted or '; see --list_configs'}"


def question(path: Path) -> str:
  """A config file's docstring, read without running the file."""
  try:
    tree = ast.parse(path.read_text(encoding="utf-8"))
  except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
    return ""
  return ast.get_docstring(tree) or ""


def load(path: Path) -> Tree:
  """What a config file's `get_config()` returns, as plain dicts.

  Raises:
    ConfigError: the file does not run, or gives something else.
  """
  module = types.ModuleType(f"pdjax_config_{path.stem}")
  module.__file__ = str(path)
  try:
    code = compile(path.read_bytes(), str(path), "exec")
    with process_goes_on():
      exec(code, module.__dict__)
      made = module.__dict__["get_config"]() if _has(module) else None
      tree = _plain(made)
  except KeyboardInterrupt:
    raise
  except BaseException as error:  # whatever a user's file raises, exits too
    raise ConfigError([_failure(path, error)]) from error
  if not _has(module):
    raise ConfigError([f"{path}: has no function get_config()"])
  if not isinstance(tree, dict):
    raise ConfigError([
        f"{path}: get_config() must return a ConfigDict, got {shown(made)}"
    ])
  return tree


def _has(module: types.ModuleType) -> bool:
  return callable(getattr(module, "get_config", None))


def _failure(path: Path, error: BaseException) -> str:
  frames = traceback.extract_tb(error.__traceback__)
  lines = [frame.lineno for frame in frames if frame.filename == str(path)]
  line = getattr(error, "lineno", None) or (lines[-1] if lines else None)
  place = f"{path}:{line}" if line else str(path)
  syntax = isinstance(error, SyntaxError)
  return f"{place}: {f'SyntaxError: {error.msg}' if syntax else raised(error)}"


def _plain(value: Any, depth: int = 0) -> Any:
  """Plain dicts and tuples, in the order in which they were written.

  A ConfigDict shows its keys sorted, but blocks and cases have an order; it is
  that of its `_fields`.

  Raises:
    ValueError: dicts within dicts without end.
  """
  if depth > _DEEPEST:
    raise ValueError("get_config() returns a dict that contains itself")
  if isinstance(value, Mapping) or hasattr(value, "to_dict"):
    names = getattr(value, "_fields", value)
    return {
        name if isinstance(name, str) else shown(name): _plain(
            value[name], depth + 1
        )
        for name in names
    }
  if isinstance(value, (tuple, list)):
    return tuple(_plain(item, depth + 1) for item in value)
  return value
