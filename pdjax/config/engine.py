"""How real devices do the work."""

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True, kw_only=True)
class Engine:
  """Settings of real devices."""

  dispatch_ahead: Literal[0, 1] = 0
  """Decode steps in flight beyond the one being read; also simulated, of
  vllm_v1 as its asynchronous scheduling."""
  matmul_precision: Literal["default", "highest"] = "highest"
  """JAX's; `default` is faster on accelerators, tokens may then differ."""
  kernels: Literal[
      "auto", "xla", "pallas_tpu", "pallas_triton", "pallas_interpret"
  ] = "auto"
  """Attention over pages; `auto` is what the devices have, else XLA."""
  max_programs: int = 24
  """Compiled programs a worker; fewer compile sooner and pad more."""
  verify_tokens: int = 8
  """Requests whose tokens are checked against a plain forward pass."""
  device_flops_per_s: float | None = None
  """Most operations a second of one device in `model.dtype`, for MFU and
  compute-busy alone; None: its data sheet's, if JAX's name of it is known."""
  device_bytes_per_s: float | None = None
  """Most bytes a second of one device's memory, for MBU alone; likewise."""
