"""Who runs an experiment's cells: this machine, or a cluster by its name."""

import functools
import importlib.util
from pathlib import Path
from typing import Any

from pdjax import literals
from pdjax.fieldtypes import near, shown
from pdjax.sweep.remote import Cluster

LOCAL = "local"
_NEEDS = {"ray": "ray", "slurm": "submitit", "slurm_local": "submitit"}
"""The package that each cluster needs."""
_EXTRAS = {"ray": "ray", "submitit": "slurm"}
NAMES = (LOCAL, *_NEEDS)


def mistakes(name: str, options: str | None) -> list[str]:
  """What is wrong with `--launcher` and `--launcher_options`."""
  if name not in NAMES:
    return [
        f"--launcher={name}: expected {', '.join(NAMES)}{near(name, NAMES)}"
    ]
  package = _NEEDS.get(name)
  lines: list[str] = []
  if package and importlib.util.find_spec(package) is None:
    lines.append(
        f"--launcher={name}: needs the package {package}: pip install"
        f" 'pdjax[{_EXTRAS[package]}]'"
    )
  if options is not None and not package:
    lines.append("--launcher_options: the cells run here, without a launcher")
  elif options is not None:
    _options(name, options, lines)
  return lines


@functools.cache
def cluster_of(name: str, options: str | None, place: Path) -> Cluster | None:
  """The cluster that runs cells, None for this machine.

  Args:
    name: one of `NAMES`.
    options: `NAME=VALUE,...` of the cluster.
    place: the experiment's folder.

  Raises:
    ConfigError: there is no such cluster.
  """
  said = _options(name, options or "", [])
  match name:
    case "ray":
      from pdjax.sweep.ray_cluster import RayCluster

      return RayCluster(said)
    case "slurm" | "slurm_local":
      from pdjax.sweep.slurm import Slurm

      return Slurm("slurm" if name == "slurm" else "local", said, place)
  return None


def _options(name: str, text: str, lines: list[str]) -> dict[str, Any]:
  """Options by name; a line for each that is none."""
  from pdjax.sweep import ray_cluster

  said: dict[str, Any] = {}
  for part in literals.parts(text) if text.strip() else ():
    option, equals, value = (word.strip() for word in part.partition("="))
    kind = ray_cluster.OPTIONS.get(option) if name == "ray" else _plain
    where = f"--launcher_options={part}"
    if not equals or not option.isidentifier() or not value:
      lines.append(f"{where}: expected NAME=VALUE")
    elif kind is None:
      known = tuple(ray_cluster.OPTIONS)
      wanted = near(option, known) or f"; allowed: {', '.join(known)}"
      lines.append(f"{where}: no option of {name}{wanted}")
    else:
      _take(said, option, value, kind, where, lines)
  return said


def _take(
    said: dict[str, Any], option: str, value: str, kind: Any, where: str,
    lines: list[str],
) -> None:
  try:
    said[option] = kind(value)
  except ValueError:
    lines.append(f"{where}: expected a number, got {shown(value)}")


def _plain(text: str) -> int | str:
  return int(text) if text.isdecimal() else text
