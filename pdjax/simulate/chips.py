"""The chips known by name, and chips that a config describes itself.

A config's own chip is a dict of `Chip`'s fields, which may start from a known
one: `{"mine": {"like": "h100-sxm", "hbm_bytes_per_s": 6e12}}`. What it does
not say stays unknown (docs/chips.md).
"""

import dataclasses
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from pdjax.config import ConfigError
from pdjax.fieldtypes import near, shown
from pdjax.simulate.chip import Chip
from pdjax.simulate.gpus import GPUS
from pdjax.simulate.tpus import TPUS

CHIPS: dict[str, Chip] = {chip.name: chip for chip in (*GPUS, *TPUS)}

Own = Mapping[str, Mapping[str, Any]]
"""Chips of a config: figures by name, by chip."""

_FIELDS = {
    name: hint
    for name, hint in typing.get_type_hints(Chip).items()
    if name not in ("name", "sources", "multiplies_not", "own")
}


FIGURES = tuple(_FIELDS)
"""What a config may say of a chip, beside `like`."""
_MOST = 1e21
"""Of any rate or size."""
_MOST_PARTS = 10**6
"""Of what is counted: units of a chip, chips, links."""
_AXES = (0, 2, 3)
"""Of a torus, or none."""


def chip(name: str, own: Own | None = None) -> Chip:
  """The chip of this name; `own` ones first.

  Raises:
    ConfigError: no such chip, or one's own is not well described.
  """
  own = own or {}
  if name in own:
    return _described(name, own[name])
  if name in CHIPS:
    return CHIPS[name]
  known = [*own, *CHIPS]
  hint = near(name.lower(), known)
  raise ConfigError([
      f"cluster.chip: unknown chip {shown(name)}{hint}; known:"
      f" {', '.join(known)}; cluster.chips describes others"
  ])


_OF_DEVICE = {
    "TPU v5 lite": "tpu-v5e", "TPU v5": "tpu-v5p", "TPU v6 lite": "tpu-v6e",
    "NVIDIA A100-SXM4-40GB": "a100-40gb-sxm",
    "NVIDIA A100-SXM4-80GB": "a100-80gb-sxm",
    "NVIDIA H100 80GB HBM3": "h100-sxm", "NVIDIA H200": "h200-sxm",
    "NVIDIA H100 PCIe": "h100-pcie", "NVIDIA B200": "b200-sxm",
    "NVIDIA A10": "a10", "NVIDIA L4": "l4", "NVIDIA L40S": "l40s",
    "NVIDIA GeForce RTX 4090": "rtx-4090",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "rtx-pro-6000",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition": "rtx-pro-6000",
}
"""What JAX calls a device -> the chip it is; only where a device is a chip."""


def of_device(kind: str) -> Chip | None:
  """The chip that JAX calls `kind`; None if it is not known here."""
  return CHIPS.get(_OF_DEVICE.get(kind, ""))


def problems(own: Own) -> list[str]:
  """A line for each mistake in the chips that a config describes."""
  return [
      line for name, told in own.items() for line in _problems(name, told)
  ]


def _described(name: str, told: Mapping[str, Any]) -> Chip:
  if errors := list(_problems(name, told)):
    raise ConfigError(errors)
  figures = {
      field: round(value) if _whole(field) else value
      for field, value in told.items()
      if field != "like"
  }
  base = CHIPS[told["like"]] if "like" in told else Chip(name=name)
  said = {"source": "the config", "sources": ()} | figures
  if "like" in told:
    # What was not said anew is still from where it was.
    kept = (*base.sources, *((field, "the config") for field in figures))
    said = {"sources": kept} | figures
  return dataclasses.replace(base, name=name, own=True, **said)


def _problems(name: str, told: Mapping[str, Any]) -> Iterator[str]:
  where = f"cluster.chips.{name}"
  if name in CHIPS:
    yield (
        f"{where}: there is a chip of this name; choose another one, with"
        f" like={name!r}"
    )
  if told.get("like", None) not in (None, *CHIPS):
    like = told["like"]
    hint = near(like, CHIPS) if isinstance(like, str) else ""
    yield (
        f"{where}.like: unknown chip {shown(told['like'])}{hint}; known:"
        f" {', '.join(CHIPS)}"
    )
  for field, value in told.items():
    if field == "like":
      continue
    if field not in _FIELDS:
      hint = near(field, _FIELDS) or f"; known: {', '.join(_FIELDS)}"
      yield f"{where}.{field}: no such figure{hint}"
    elif _FIELDS[field] is str:
      if not isinstance(value, str):
        yield f"{where}.{field}: must be text, got {shown(value)}"
    elif field == "torus_axes":
      if value not in _AXES:
        yield f"{where}.{field}: must be 0, 2 or 3, got {shown(value)}"
    elif isinstance(value, str) or not _low(field) <= value <= _high(field):
      yield (
          f"{where}.{field}: must be a number from {_low(field):g} to"
          f" {_high(field):g}, got {shown(value)}"
      )


def _low(field: str) -> float:
  """Rates below would round to nothing once their efficiency is taken off."""
  if field.endswith(("_flops", "_ops", "_per_s")):
    return 1e6
  return {"price_usd_per_hour": 1e-6}.get(field, 1)


def _high(field: str) -> float:
  parts = ("_units", "_tile", "_chips", "_links")
  return _MOST_PARTS if field.endswith(parts) else _MOST


def _whole(field: str) -> bool:
  return int in (_FIELDS[field], *typing.get_args(_FIELDS[field]))
