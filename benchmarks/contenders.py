"""Who does a load: our kernel, XLA, jax.nn's attention, the kernels of JAX.

Each is a function of no arguments over arrays that lie ready, in the layout
that it likes best: a rival's KV is contiguous where ours is paged, and its
name says so.

Dimension key: docs/notation.md.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
from pdjax_kernels import pages, xla
from pdjax_kernels.chunk_prefill import reference as prefill_reference
from pdjax_kernels.chunk_prefill import tpu as prefill_tpu
from pdjax_kernels.chunk_prefill import triton as prefill_triton
from pdjax_kernels.kv_move import reference as move_reference
from pdjax_kernels.kv_move import tpu as move_tpu
from pdjax_kernels.kv_write import reference as write_reference
from pdjax_kernels.kv_write import tpu as write_tpu
from pdjax_kernels.paged_decode import reference as decode_reference
from pdjax_kernels.paged_decode import tpu as decode_tpu
from pdjax_kernels.paged_decode import triton as decode_triton

from benchmarks import tuning
from benchmarks.loads import Arrays, Load

Call = Callable[[], Any]

OURS = "ours"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Family:
  """The kernels of one kind of device."""

  name: Literal["tpu", "triton"]
  interpret: bool = False

  @property
  def packs(self) -> bool:
    return self.name == "tpu"



_ATTENTION = {
    ("paged_decode", "tpu"): decode_tpu.paged_decode,
    ("paged_decode", "triton"): decode_triton.paged_decode,
    ("chunk_prefill", "tpu"): prefill_tpu.chunk_prefill,
    ("chunk_prefill", "triton"): prefill_triton.chunk_prefill,
}


def attends(load: Load) -> bool:
  return load.kernel in ("paged_decode", "chunk_prefill")


def ours(
    load: Load, x: Arrays, family: Family, blocks: Any, device: str | None
) -> Call:
  """Our kernel, with these blocks or those that the device would get."""
  blocks = blocks or tuning.chosen(
      family.name, load.kernel, load.spec, device
  )
  return _attention(load, x, _ours(load.kernel, family, blocks))


@functools.cache
def _ours(kernel: str, family: Family, blocks: Any) -> Callable:
  """One function, hence one compilation, for the same blocks."""
  return jax.jit(
      functools.partial(
          _ATTENTION[kernel, family.name], blocks=blocks,
          interpret=family.interpret,
      ),
      static_argnames="scale",
  )


def in_xla(load: Load, x: Arrays) -> Call:
  return _attention(load, x, _in_xla(load.kernel))


@functools.cache
def _in_xla(kernel: str) -> Callable:
  return jax.jit(getattr(xla, kernel), static_argnames="scale")


def by_reference(load: Load, x: Arrays) -> Call:
  """The contract itself: for small loads only."""
  attend = {
      "paged_decode": decode_reference.paged_decode,
      "chunk_prefill": prefill_reference.chunk_prefill,
  }[load.kernel]
  return _attention(load, x, jax.jit(attend, static_argnames="scale"))


def _attention(load: Load, x: Arrays, attend: Callable) -> Call:
  run = functools.partial(attend, scale=load.head_dim**-0.5)
  if load.kernel == "paged_decode":
    operands = (x.q_TNH, x.kv_P2KCH, x.page_RM, x.length_R)
  else:
    operands = (x.q_TNH, x.kv_P2KCH, x.page_RM, x.row_U, x.position_U)
  return lambda: run(*operands)[0]


def rivals(load: Load, x: Arrays, family: Family) -> dict[str, Call]:
  """Whatever else attends here; some may refuse when they are called."""
  if load.kv_dtype != load.dtype:
    return {}  # they take no narrow caches
  made = {}
  for implementation in ("xla", "cudnn"):
    made[f"jax.nn {implementation}, contiguous"] = _jax_nn(
        load, x, implementation
    )
  if family.name == "triton" and load.kernel == "paged_decode":
    made["jax gpu paged_attention"] = _gpu_paged(load, x, family.interpret)
  if family.name == "tpu" and load.kernel == "paged_decode":
    made["jax tpu paged_attention"] = _tpu_paged(load, x)
  if family.name == "triton" and load.kernel == "chunk_prefill":
    made["jax gpu mha, contiguous"] = _gpu_mha(load, x, family.interpret)
  if family.name == "tpu" and load.kernel == "chunk_prefill":
    made["jax tpu flash_attention, contiguous"] = _tpu_flash(load, x)
  return made


def _contiguous(load: Load, x: Arrays) -> tuple[jax.Array, jax.Array]:
  """Keys and values without pages: k_RSKH, v_RSKH."""
  kv_RM2KCH = pages.unpack(x.kv_P2KCH)[x.page_RM]
  R, M, _, K, C, H = kv_RM2KCH.shape
  kv_2RSKH = kv_RM2KCH.transpose(2, 0, 1, 4, 3, 5).reshape(2, R, M * C, K, H)
  k_RSKH, v_RSKH = kv_2RSKH[:, :, : load.tokens]
  return k_RSKH, v_RSKH


def _jax_nn(load: Load, x: Arrays, implementation: Any) -> Call:
  k_RSKH, v_RSKH = _contiguous(load, x)
  q_RTNH = x.q_TNH.reshape(load.rows, -1, load.num_heads, load.head_dim)
  attend = jax.jit(functools.partial(
      jax.nn.dot_product_attention, scale=load.head_dim**-0.5,
      is_causal=load.kernel == "chunk_prefill", implementation=implementation,
  ))
  return lambda: attend(q_RTNH, k_RSKH, v_RSKH).reshape(x.q_TNH.shape)


def _gpu_paged(load: Load, x: Arrays, interpret: bool) -> Call:
  from jax.experimental.pallas.ops.gpu import paged_attention as theirs

  M = x.page_RM.shape[1]
  splits = next(n for n in (16, 8, 4, 2, 1) if M % n == 0)
  each = next(n for n in (8, 4, 2, 1) if M // splits % n == 0)
  k_KPCH, v_KPCH = jnp.copy(
      pages.unpack(x.kv_P2KCH).transpose(1, 2, 0, 3, 4)
  )
  q_RNH = x.q_TNH * jnp.asarray(load.head_dim**-0.5, load.dtype)
  return lambda: theirs.paged_attention(
      q_RNH, k_KPCH, v_KPCH, x.page_RM, x.length_R, k_splits=splits,
      pages_per_compute_block=each, interpret=interpret,
  )


def _tpu_paged(load: Load, x: Arrays) -> Call:
  from jax.experimental.pallas.ops.tpu.paged_attention import paged_attention

  k_KPCH, v_KPCH = jnp.copy(
      pages.unpack(x.kv_P2KCH).transpose(1, 2, 0, 3, 4)
  )
  q_RNH = x.q_TNH * jnp.asarray(load.head_dim**-0.5, load.dtype)
  M = x.page_RM.shape[1]
  each = next(n for n in (8, 4, 2, 1) if M % n == 0)
  return lambda: paged_attention(
      q_RNH, k_KPCH, v_KPCH, x.length_R, x.page_RM,
      pages_per_compute_block=each,
  )


def _repeated(load: Load, x: Arrays) -> tuple[jax.Array, ...]:
  """Queries, keys and values with a kv head for each query head: x_RSNH."""
  G = load.spec.queries_per_kv_head
  k_RSNH, v_RSNH = (
      jnp.repeat(side, G, axis=2) for side in _contiguous(load, x)
  )
  return x.q_TNH.reshape(k_RSNH.shape), k_RSNH, v_RSNH


def _gpu_mha(load: Load, x: Arrays, interpret: bool) -> Call:
  from jax.experimental.pallas.ops.gpu import attention as theirs

  operands = _repeated(load, x)
  attend = jax.jit(lambda q, k, v: theirs.mha(
      q, k, v, None, sm_scale=load.head_dim**-0.5, causal=True,
      interpret=interpret,
  ))
  return lambda: attend(*operands).reshape(x.q_TNH.shape)


def _tpu_flash(load: Load, x: Arrays) -> Call:
  from jax.experimental.pallas.ops.tpu import flash_attention as theirs

  operands = [y.swapaxes(1, 2) for y in _repeated(load, x)]
  attend = jax.jit(lambda q, k, v: theirs.flash_attention(
      q, k, v, causal=True, sm_scale=load.head_dim**-0.5
  ).swapaxes(1, 2))
  return lambda: attend(*operands).reshape(x.q_TNH.shape)


# Pages. -----------------------------------------------------------------------


def movers(load: Load, x: Arrays, family: Family) -> dict[str, Call]:
  """Our kernel, where there is one, and XLA. A cache is donated and kept."""
  move = _written if load.kernel == "kv_write" else _moved
  made = {"xla": move(load, x, None)}
  if family.name == "tpu":
    made[OURS] = move(load, x, family)
  return made


def _written(load: Load, x: Arrays, family: Family | None) -> Call:
  """Every sequence's tokens at the end of its context."""
  write = write_reference.kv_write
  if family:
    write = functools.partial(write_tpu.kv_write, interpret=family.interpret)
  C = load.page_tokens
  page_T = x.page_RM[x.row_U, x.position_U // C]
  cell_T = x.position_U % C
  new_TKH = x.q_TNH[:, : load.num_kv_heads]
  if new_TKH.shape[1] < load.num_kv_heads:
    raise ValueError(f"{load}: fewer heads than kv heads")
  return _in_place(x, lambda kv: write(kv, new_TKH, new_TKH, page_T, cell_T))


def _moved(load: Load, x: Arrays, family: Family | None) -> Call:
  """Every page out of the cache and back to the place before it."""
  gather, scatter = move_reference.gather_pages, move_reference.scatter_pages
  if family:
    gather, scatter = (
        functools.partial(move, interpret=family.interpret)
        for move in (move_tpu.gather_pages, move_tpu.scatter_pages)
    )
  page_M = x.page_RM.reshape(-1)
  return _in_place(x, lambda kv: scatter(kv, gather(kv, page_M), page_M - 1))


def _in_place(x: Arrays, change: Callable) -> Call:
  run = jax.jit(change, donate_argnums=0)
  cache = [jnp.copy(x.kv_P2KCH)]

  def call():
    cache[0] = run(cache[0])
    return cache[0]

  return call
