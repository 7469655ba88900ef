"""The devices a measured cell will find, asked without loading JAX here.

JAX reads its environment once and holds the devices it has opened, so the
question is put to a short-lived process. `cluster.host_devices` needs no
question: it splits the host's CPU.
"""

import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from pdjax.config import ConfigError, Run

_ASK = """
import json, jax
found = jax.devices()
print(json.dumps([found[0].platform, found[0].device_kind, len(found)]))
"""
_SHOWN = (
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "TPU_VISIBLE_CHIPS",
    "TPU_VISIBLE_DEVICES",
)
"""What tells which of a machine's devices a process sees."""
_COUNT = "--xla_force_host_platform_device_count"


@dataclasses.dataclass(frozen=True)
class Devices:
  """What JAX sees."""

  platform: str
  kind: str
  count: int


def devices_of(run: Run) -> Devices:
  """The devices a measured run gets.

  Raises:
    ConfigError: JAX finds none.
  """
  if run.cluster.host_devices is not None:
    return Devices("cpu", "cpu", run.cluster.host_devices)
  return _found()


@functools.cache
def _found() -> Devices:
  asked = subprocess.run(
      [sys.executable, "-c", _ASK], capture_output=True, text=True, check=False
  )
  if asked.returncode:
    reason = (asked.stderr.strip() or "no message").splitlines()[-1]
    raise ConfigError([f"backend.kind: JAX finds no device: {reason}"])
  return Devices(*json.loads(asked.stdout.strip().splitlines()[-1]))


@contextlib.contextmanager
def alone(wait: Callable[[], None]) -> Iterator[None]:
  """While no other process of this user measures on the same devices.

  Two measured cells at once would measure each other. Processes that are
  shown other devices do not wait for each other.

  Args:
    wait: called if somebody else measures, before waiting for him.
  """
  shown = [f"{name}={os.environ.get(name)}" for name in _SHOWN]
  digest = hashlib.sha256(" ".join(shown).encode()).hexdigest()[:8]
  name = f"pdjax-measures-{os.getuid()}-{digest}.lock"
  with open(Path(tempfile.gettempdir()) / name, "w") as file:
    try:
      fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
      wait()
      fcntl.flock(file, fcntl.LOCK_EX)
    yield


def environment(run: Run) -> dict[str, str]:
  """The environment of a measured run's process.

  Compiled programs are kept in `$PDJAX_CACHE`, else `~/.cache/pdjax`.
  """
  env = dict(os.environ)
  if run.cluster.host_devices is not None:
    old = re.sub(rf"{_COUNT}=\S*", "", env.get("XLA_FLAGS", ""))
    env["XLA_FLAGS"] = f"{old} {_COUNT}={run.cluster.host_devices}".strip()
    env["JAX_PLATFORMS"] = "cpu"
  home = Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pdjax"
  cache = Path(env.get("PDJAX_CACHE") or home) / "compiled"
  env.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
  env.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
  env.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
  env["PYTHONUNBUFFERED"] = "1"
  return env
