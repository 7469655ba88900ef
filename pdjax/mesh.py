"""Device meshes, and which array axis lies along which mesh axis.

Arrays name their axes logically ("heads", "ffn"); one table of rules maps
those names to the single mesh axis "tp" (tensor parallelism). Nothing here
knows a model or moves data.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from pdjax import config

TP = "tp"

Device = Any
"""A `jax.Device`, which is a variable to type checkers."""

RULES: Mapping[str, str | None] = {
    "vocab": TP,
    "heads": TP,
    "kv_heads": TP,
    "ffn": TP,
    "experts": None,
    "layers": None,
    "embed": None,
    "head": None,
    "pages": None,
    "cells": None,
    "pair": None,
    "tokens": None,
}
"""Logical axis -> mesh axis; None is whole on every device."""


def make_mesh(devices: Sequence[Device], tp: int) -> Mesh:
  """A mesh of the first `tp` devices along the axis "tp".

  Raises:
    ConfigError: there are fewer devices than that.
  """
  if not 1 <= tp <= len(devices):
    raise config.ConfigError(
        [f"cluster.tp: {tp} does not fit {len(devices)} device(s)"]
    )
  return Mesh(np.array(devices[:tp]), (TP,))


def partition(
    axes: Sequence[str], rules: Mapping[str, str | None] = RULES
) -> PartitionSpec:
  """The mesh axis of each logical axis.

  Raises:
    ValueError: an axis has no rule, or two lie along the same mesh axis.
  """
  unknown = [axis for axis in axes if axis not in rules]
  if unknown:
    raise ValueError(f"no sharding rule for {unknown[0]!r} of {tuple(axes)}")
  placed = [rules[axis] for axis in axes]
  taken = [axis for axis in placed if axis is not None]
  if len(set(taken)) < len(taken):
    raise ValueError(f"{tuple(axes)} lie along one mesh axis twice: {placed}")
  return PartitionSpec(*placed)


def sharding(mesh: Mesh, axes: Sequence[str]) -> NamedSharding:
  """How an array with these logical axes lies on the mesh."""
  return NamedSharding(mesh, partition(axes))


def replicated(mesh: Mesh) -> NamedSharding:
  """A whole copy on every device."""
  return NamedSharding(mesh, PartitionSpec())


def split_devices(
    devices: Sequence[Device],
    pools: Sequence[config.Pool],
    *,
    share: bool = False,
) -> list[tuple[Device, ...]]:
  """Each worker's devices, in the order of the pools.

  Groups are disjoint; with `share` every worker gets the first `tp` devices.

  Raises:
    ConfigError: there are not enough devices.
  """
  sizes = [pool.tp for pool in pools for _ in range(pool.count)]
  need = max(sizes) if share else sum(sizes)
  if need > len(devices):
    raise config.ConfigError([
        f"cluster: {len(sizes)} worker(s) need {need} devices, this machine"
        f" has {len(devices)}; make the split smaller, or on CPU set"
        f" cluster.host_devices={need}"
    ])
  starts = [0 if share else sum(sizes[:i]) for i in range(len(sizes))]
  return [
      tuple(devices[start : start + size])
      for start, size in zip(starts, sizes, strict=True)
  ]
