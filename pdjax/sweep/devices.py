"""The devices a measured cell will find, asked without loading JAX here.

JAX reads its environment once and holds the devices it has opened, so the
question is put to a short-lived process. `cluster.host_devices` needs no
question: it splits the host's CPU.
"""

import dataclasses
import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from pdjax.config import ConfigError, Run

_ASK = """
import json, jax
found = jax.devices()
print(json.dumps([found[0].platform, found[0].device_kind, len(found)]))
"""
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
