"""Who made a run, when and with what: for tracing, never for comparing.

The only results that name a date or a host are `provenance.json`, made here,
and `status.json`.
"""

import datetime
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_PACKAGES = (
    "pdjax", "jax", "jaxlib", "flax", "numpy", "pyarrow", "tokenizers", "gguf",
    "matplotlib",
)


def provenance(
    *, command: Sequence[str] | None = None, devices: Sequence[str] = ()
) -> dict[str, Any]:
  """What `provenance.json` holds.

  Args:
    command: the command line; None takes this process's.
    devices: kinds of the devices used, one word each.
  """
  return {
      "started": datetime.datetime.now(datetime.UTC).isoformat(
          timespec="seconds"
      ),
      "command": list(sys.argv if command is None else command),
      "python": platform.python_version(),
      "platform": platform.platform(),
      "machine": platform.machine(),
      "host": platform.node(),
      "cores": os.cpu_count(),
      "devices": list(devices),
      "packages": {name: _version(name) for name in _PACKAGES},
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
