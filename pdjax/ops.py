"""Attention over the paged cache: one call a shape of work, kernels behind it.

Which kernels run is said by a `Kernels`, chosen once from the platform of a
mesh. Under tensor parallelism each device calls these on its own heads.
Contracts: reference.py in each folder of `pdjax_kernels`.

Dimension key: docs/notation.md.
"""

import dataclasses
import functools
import sys
from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import Mesh
from pdjax_kernels import pages, xla
from pdjax_kernels.chunk_prefill import tpu as prefill_tpu
from pdjax_kernels.chunk_prefill import triton as prefill_triton
from pdjax_kernels.kv_move import reference as move
from pdjax_kernels.kv_move import tpu as move_tpu
from pdjax_kernels.kv_write import tpu as write_tpu
from pdjax_kernels.merge_states.reference import with_sink
from pdjax_kernels.paged_decode import tpu as decode_tpu
from pdjax_kernels.paged_decode import triton as decode_triton
from pdjax_kernels.spec import Spec as Spec
from pdjax_kernels.spec import mismatch

KINDS = ("xla", "pallas_tpu", "pallas_triton", "pallas_interpret")

_PLATFORM_OF = {"pallas_tpu": "tpu", "pallas_triton": "gpu"}
"""Of compiled kernels; the others run anywhere."""

_CAPABILITY = "9.0"
"""Of the GPUs whose compiler has seen the Triton kernels: Hopper."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Kernels:
  """One of KINDS, and whether it was asked for."""

  kind: str = "xla"
  explicit: bool = False
  device: str | None = None
  """Its kind, for blocks that were measured on it (`pdjax_kernels.tuned`)."""

  def __post_init__(self):
    if self.kind not in KINDS:
      raise ValueError(f"{self.kind=}: one of {', '.join(KINDS)}")

  @property
  def packs(self) -> bool:
    """Whether narrow heads lie packed in the cache (`pdjax_kernels.pages`)."""
    return self.kind == "pallas_tpu"

  def for_spec(self, spec: Spec) -> "Kernels":
    """These, or XLA where they do not take the work.

    Raises:
      ValueError: they do not, and were asked for.
    """
    reason = _supports(self.kind, spec)
    if reason is None:
      return self
    if self.explicit:
      raise ValueError(f"kernels {self.kind}: {reason}")
    _say_once(f"XLA instead of {self.kind} kernels: {reason}")
    return XLA


XLA = Kernels()


def kernels_for(mesh: Mesh, asked: str = "auto") -> Kernels:
  """What runs on a mesh: the asked, or its platform's.

  Raises:
    ValueError: there are no such kernels, or not for these devices.
  """
  device = mesh.devices.flat[0]
  if asked == "auto":
    return Kernels(kind=_default(device), device=device.device_kind)
  kernels = Kernels(kind=asked, explicit=True, device=device.device_kind)
  if _PLATFORM_OF.get(asked, device.platform) != device.platform:
    raise ValueError(
        f"kernels {asked} are for a {_PLATFORM_OF[asked]}; these devices are"
        f" {device.platform}: say auto, xla or pallas_interpret"
    )
  return kernels


def _default(device: Any) -> str:
  if device.platform == "tpu":
    return "pallas_tpu"
  if device.platform != "gpu":
    return "xla"
  capability = str(getattr(device, "compute_capability", "unknown"))
  if capability == _CAPABILITY:
    return "pallas_triton"
  _say_once(
      "XLA instead of pallas_triton kernels: they were compiled for compute"
      f" capability {_CAPABILITY} only, this device's is {capability};"
      " engine.kernels=pallas_triton takes them all the same"
  )
  return "xla"


def packed_on(kernels: Kernels, head_dim: int) -> bool:
  """Whether a cache of such heads is packed."""
  return kernels.packs and 2 * head_dim == pages.LANES


def _supports(kind: str, spec: Spec) -> str | None:
  match kind:
    case "pallas_tpu":
      return decode_tpu.supports(spec)
    case "pallas_triton":
      return decode_triton.supports(spec)
    case "pallas_interpret":
      return mismatch(spec)
  return None


@functools.cache
def _say_once(line: str) -> None:
  print(line, file=sys.stderr)


def kv_write(
    kv_P2KCH: jax.Array,
    k_TKH: jax.Array,
    v_TKH: jax.Array,
    page_T: jax.Array,
    cell_T: jax.Array,
    *,
    kernels: Kernels = XLA,
) -> jax.Array:
  """The cache with each token's key and value in its cell."""
  spec = Spec.of(k_TKH, kv_P2KCH)
  write = xla.kv_write  # also on GPUs: kernels/README.md
  match kernels.for_spec(spec).kind:
    case "pallas_tpu":
      write = write_tpu.kv_write
    case "pallas_interpret":
      write = functools.partial(write_tpu.kv_write, interpret=True)
  return write(kv_P2KCH, k_TKH, v_TKH, page_T, cell_T)


def gather_int8(
    kv_P2KCH: jax.Array, page_M: jax.Array, *, kernels: Kernels = XLA
) -> tuple[jax.Array, jax.Array]:
  """Pages rounded to int8: (payload_M2KCH, scale_M2KC in float32)."""
  if kernels.kind == "pallas_tpu":
    return move_tpu.gather_int8(kv_P2KCH, page_M)
  return move.gather_int8(kv_P2KCH, page_M)


def scatter_int8(
    kv_P2KCH: jax.Array,
    payload_M2KCH: jax.Array,
    scale_M2KC: jax.Array,
    page_M: jax.Array,
    *,
    kernels: Kernels = XLA,
) -> jax.Array:
  """The cache with pages overwritten by payload * scale; donate it.

  A page that comes up more than once, as a sentinel does, holds rubbish after.
  """
  scatter = move.scatter_int8
  if kernels.kind == "pallas_tpu":
    scatter = move_tpu.scatter_int8
  return scatter(kv_P2KCH, payload_M2KCH, scale_M2KC, page_M)


def paged_decode(
    q_BNH: jax.Array,
    kv_P2KCH: jax.Array,
    page_BM: jax.Array,
    length_B: jax.Array,
    *,
    scale: float,
    window: int | None = None,
    soft_cap: float | None = None,
    sink_N: jax.Array | None = None,
    kernels: Kernels = XLA,
) -> jax.Array:
  """One query a sequence over its cached tokens: out_BNH.

  `sink_N` are scores without a value that take part in each head's softmax.
  """
  spec = Spec.of(q_BNH, kv_P2KCH)
  attend = _chosen(
      kernels, spec, decode_tpu.paged_decode, decode_triton.paged_decode,
      xla.paged_decode,
  )
  return _with_sink(attend(
      q_BNH, kv_P2KCH, page_BM, length_B, scale=scale, window=window,
      soft_cap=soft_cap,
  ), sink_N)


def chunk_prefill(
    q_UNH: jax.Array,
    kv_P2KCH: jax.Array,
    page_RM: jax.Array,
    row_U: jax.Array,
    position_U: jax.Array,
    *,
    scale: float,
    window: int | None = None,
    soft_cap: float | None = None,
    sink_N: jax.Array | None = None,
    kernels: Kernels = XLA,
) -> jax.Array:
  """Packed prompt tokens, each over its own past and itself: out_UNH."""
  spec = Spec.of(q_UNH, kv_P2KCH)
  attend = _chosen(
      kernels, spec, prefill_tpu.chunk_prefill, prefill_triton.chunk_prefill,
      xla.chunk_prefill,
  )
  return _with_sink(attend(
      q_UNH, kv_P2KCH, page_RM, row_U, position_U, scale=scale, window=window,
      soft_cap=soft_cap,
  ), sink_N)


def _chosen(
    kernels: Kernels, spec: Spec, on_tpu: Callable, on_gpu: Callable,
    in_xla: Callable,
) -> Callable:
  """The one of three implementations that `kernels` run for an attention."""
  kernels = kernels.for_spec(spec)
  match kernels.kind:
    case "pallas_tpu":
      return functools.partial(on_tpu, device=kernels.device)
    case "pallas_triton":
      return functools.partial(on_gpu, device=kernels.device)
    case "pallas_interpret":
      return functools.partial(on_tpu, interpret=True)
  return in_xla


def _with_sink(
    result: tuple[jax.Array, jax.Array], sink_N: jax.Array | None
) -> Any:
  return result[0] if sink_N is None else with_sink(*result, sink_N)[0]
