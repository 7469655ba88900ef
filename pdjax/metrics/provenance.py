"""Who made a run, when and with what: for tracing, never for comparing.

The only results that name a date or a host are `provenance.json`, made here,
and `status.json`.
"""

import datetime
import importlib.metadata
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pdjax
from pdjax import accelerated

_PACKAGES = (
    "jax", "jaxlib", "flax", "numpy", "pyarrow", "tokenizers", "gguf",
    "matplotlib",
)


COMMAND = "PDJAX_COMMAND"
"""Environment variable: the user's command line as JSON, for processes that do
a part of the work."""


def now() -> str:
  """The time of day in UTC, to the second."""
  return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def repeat_command(folder: Path) -> str:
  """Does the run in `folder` again, into a folder still to be named."""
  config = shlex.quote(str(folder / "config.json"))
  return f"python -m pdjax.cli.cell {config} NEW_FOLDER"


def provenance(
    *,
    started: str,
    folder: Path,
    command: Sequence[str] | None = None,
    devices: Sequence[str] = (),
) -> dict[str, Any]:
  """What `provenance.json` holds.

  Args:
    started: when the run did, from `now`.
    folder: where its files are.
    command: the command line; None takes the user's, which is this process's
      unless the environment says another.
    devices: kinds of the devices used, one word each.
  """
  told = os.environ.get(COMMAND)
  users: list[str] = json.loads(told) if told else sys.orig_argv
  return {
      "started": started,
      "command": list(users if command is None else command),
      "repeat": repeat_command(folder),
      "directory": str(Path.cwd()),
      "python": platform.python_version(),
      "platform": platform.platform(),
      "machine": platform.machine(),
      "host": platform.node(),
      "cores": os.cpu_count(),
      "devices": list(devices),
      "packages": {
          "pdjax": pdjax.__version__,
          **{name: _version(name) for name in _PACKAGES},
      },
      "accelerated": accelerated.loaded(),
      "git": git_state(Path(__file__).parent),
  }


def _version(package: str) -> str | None:
  try:
    return importlib.metadata.version(package)
  except importlib.metadata.PackageNotFoundError:
    return None


def git_state(folder: Path) -> dict[str, Any] | None:
  """Commit and whether files differ from it; None outside a checkout."""
  commit = _git(folder, "rev-parse", "HEAD")
  # An installed package may lie inside somebody else's repository.
  known = _git(folder, "ls-files", "--error-unmatch", "__init__.py")
  if commit is None or known is None:
    return None
  changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
  return {"commit": commit, "modified": bool(changed)}


def _git(folder: Path, *arguments: str) -> str | None:
  try:
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=10, check=True,
    )
  except (OSError, subprocess.SubprocessError):
    return None
  return done.stdout.strip()
