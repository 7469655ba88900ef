"""A described device: what to compile for, and how much memory it has.

TPU targets name a slice, `v5e:2x4`; GPU targets one host, `h200` or `h200:8`.
Figures of a chip are those the simulator uses.
"""

import dataclasses
import importlib.metadata
import importlib.util
import math
import re
from typing import Literal

from pdjax.config import ConfigError
from pdjax.fieldtypes import near
from pdjax.simulate.chips import Chip, chip

TPUS = {
    "v4": "tpu-v4", "v5e": "tpu-v5e", "v5p": "tpu-v5p", "v6e": "tpu-v6e",
    "tpu7x": "tpu-v7x",
}
"""The compiler's name of a TPU -> the chip's name here."""

GPUS = {"h100": "h100-sxm", "h200": "h200-sxm"}

_DEVICES_PER_CHIP = {"v4": 2, "tpu7x": 2}
"""Where the compiler sees a chip's cores as devices of their own."""

_CUDA = ("jax_plugins.xla_cuda13", "jax_plugins.xla_cuda12")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Target:
  """Chips of one kind, connected."""

  name: str
  """As asked for."""
  kind: str
  """The compiler's name of the chip."""
  platform: Literal["tpu", "cuda"]
  num_chips: int
  chip: Chip

  @property
  def num_devices(self) -> int:
    return self.num_chips * _DEVICES_PER_CHIP.get(self.kind, 1)

  @property
  def hbm_bytes(self) -> int:
    """Of one device; ConfigError where no source states it."""
    hbm_bytes = self.chip.figure("hbm_bytes")
    return hbm_bytes // _DEVICES_PER_CHIP.get(self.kind, 1)


def target(text: str) -> Target:
  """The target that `text` names.

  >>> target("v5e:2x4").num_chips
  8

  Raises:
    ConfigError: there is no such target.
  """
  kind, colon, size = text.lower().partition(":")
  if kind in TPUS and re.fullmatch(r"\d+(x\d+){1,2}", size):
    chips, platform, name = math.prod(map(int, size.split("x"))), "tpu", TPUS
  elif kind in GPUS and (not colon or re.fullmatch(r"[1-8]", size)):
    chips, platform, name = int(size or 1), "cuda", GPUS
  else:
    raise ConfigError([_refusal(text, kind)])
  if not chips:
    raise ConfigError([f"--target={text}: a slice needs chips"])
  return Target(
      name=text.lower(), kind=kind, platform=platform, num_chips=chips,
      chip=chip(name[kind]),
  )


def _refusal(text: str, kind: str) -> str:
  if kind in TPUS:
    return f"--target={text}: say the slice too, as in {kind}:2x2"
  if kind in GPUS:
    return f"--target={text}: expected {kind} or {kind}:1 to {kind}:8"
  known = [*TPUS, *GPUS]
  hint = near(kind, known)
  return (
      f"--target={text}: no such target{hint or ''}; known are"
      f" {', '.join(f'{name}:2x2' for name in TPUS)} (any slice),"
      f" {', '.join(GPUS)}"
  )


def missing_compiler(target: Target) -> str | None:
  """The line that brings the target's compiler, if it is not installed."""
  modules = ("libtpu",) if target.platform == "tpu" else _CUDA
  if any(_found(name) for name in modules):
    return None
  return (
      f"--target={target.name}: its compiler is not installed; bring it with:"
      f" pip install {packages(target)}"
  )


def packages(target: Target) -> str:
  """What pip installs the target's compiler from, beside this jax."""
  if target.platform == "tpu":
    return f"'{_pinned_libtpu()}'"
  version = importlib.metadata.version("jax")
  return (
      f"jax-cuda12-plugin=={version} jax-cuda12-pjrt=={version}"
      " nvidia-cuda-nvcc-cu12 nvidia-cuda-runtime-cu12"
  )


def _pinned_libtpu() -> str:
  """The version that this jax asks for."""
  wanted = importlib.metadata.requires("jax") or []
  pins = [line.partition(";")[0].strip() for line in wanted]
  return next((pin for pin in pins if pin.startswith("libtpu")), "libtpu")


def _found(module: str) -> bool:
  try:
    return importlib.util.find_spec(module) is not None
  except ModuleNotFoundError:
    return False
