"""`kv_move` for TPU: Mosaic.

Plain pages go from HBM to HBM, many at a time, and never through a core. As
int8 each page is a program, whose page the table says; the next page is fetched
meanwhile.

Dimension key: docs/notation.md; here M = pages moved, W = width of a cell.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from pdjax_kernels.kv_move.blocks import TpuBlocks

_HBM = pl.BlockSpec(memory_space=pl.ANY)


def gather_pages(
    kv_P2KCH: jax.Array,
    page_M: jax.Array,
    *,
    blocks: TpuBlocks | None = None,
    interpret: Any = False,
) -> jax.Array:
  """See reference.py; `blocks` and `interpret` change no result."""
  shape = (page_M.shape[0], *kv_P2KCH.shape[1:])
  return _copies(
      _gather_kernel, page_M, (kv_P2KCH,), jax.ShapeDtypeStruct(
          shape, kv_P2KCH.dtype
      ), {}, blocks, interpret,
  )


def scatter_pages(
    kv_P2KCH: jax.Array,
    staging_M2KCH: jax.Array,
    page_M: jax.Array,
    *,
    blocks: TpuBlocks | None = None,
    interpret: Any = False,
) -> jax.Array:
  """See reference.py; `blocks` and `interpret` change no result."""
  return _copies(
      _scatter_kernel, page_M, (staging_M2KCH, kv_P2KCH),
      jax.ShapeDtypeStruct(kv_P2KCH.shape, kv_P2KCH.dtype), {2: 0}, blocks,
      interpret,
  )


def _copies(kernel, page_M, arrays, out_shape, aliases, blocks, interpret):
  """Runs a kernel of copies between arrays that stay in HBM."""
  M, moved = page_M.shape[0], arrays[0][0].size * arrays[0].dtype.itemsize
  return pl.pallas_call(
      functools.partial(kernel, M=M, ahead=(blocks or TpuBlocks()).pages),
      out_shape=out_shape,
      grid_spec=pltpu.PrefetchScalarGridSpec(
          num_scalar_prefetch=1,
          grid=(1,),
          in_specs=[_HBM] * len(arrays),
          out_specs=_HBM,
          scratch_shapes=[pltpu.SemaphoreType.DMA],
      ),
      input_output_aliases=aliases,
      cost_estimate=pl.CostEstimate(
          flops=0, transcendentals=0, bytes_accessed=2 * M * moved
      ),
      interpret=interpret,
      name="kv_move",
  )(page_M, *arrays)


def _gather_kernel(page_ref, kv_ref, staging_ref, sem, *, M, ahead):
  _overlap(M, ahead, lambda m: pltpu.make_async_copy(
      kv_ref.at[page_ref[m]], staging_ref.at[m], sem
  ))


def _scatter_kernel(page_ref, staging_ref, _, kv_ref, sem, *, M, ahead):
  _overlap(M, ahead, lambda m: pltpu.make_async_copy(
      staging_ref.at[m], kv_ref.at[page_ref[m]], sem
  ))


def _overlap(M: int, ahead: int, copy) -> None:
  """Starts each copy when the one `ahead` before it is done.

  All are of one size, so any that ends lets one more start.
  """
  @pl.loop(0, min(ahead, M))
  def _(m):
    copy(m).start()

  @pl.loop(0, M)
  def _(m):
    copy(m).wait()

    @pl.when(m + ahead < M)
    def _():
      copy(m + ahead).start()


def gather_int8(
    kv_P2KCH: jax.Array, page_M: jax.Array, *, interpret: Any = False
) -> tuple[jax.Array, jax.Array]:
  """See reference.py."""
  M, (_, pair, K, C, W) = page_M.shape[0], kv_P2KCH.shape
  return _paged(
      _round_kernel, page_M,
      inputs=((kv_P2KCH, True),),
      outputs=(
          (jax.ShapeDtypeStruct((M, pair, K, C, W), jnp.int8), False),
          (jax.ShapeDtypeStruct((M, 2, K, C), jnp.float32), False),
      ),
      aliases={},
      interpret=interpret,
  )


def scatter_int8(
    kv_P2KCH: jax.Array,
    payload_M2KCH: jax.Array,
    scale_M2KC: jax.Array,
    page_M: jax.Array,
    *,
    interpret: Any = False,
) -> jax.Array:
  """See reference.py."""
  kv = jax.ShapeDtypeStruct(kv_P2KCH.shape, kv_P2KCH.dtype)
  (kv_P2KCH,) = _paged(
      _restore_kernel, page_M,
      inputs=((payload_M2KCH, False), (scale_M2KC, False), (kv_P2KCH, None)),
      outputs=((kv, True),),
      aliases={3: 0},
      interpret=interpret,
  )
  return kv_P2KCH


def _paged(kernel, page_M, *, inputs, outputs, aliases, interpret):
  """A program a page: arrays are read or written at the m-th or its page.

  Each array comes with whether the table says its page; None stays in HBM.
  """
  def spec(array, by_table):
    if by_table is None:
      return _HBM

    def place(m, page_ref):
      first = page_ref[m] if by_table else m
      return (first, *(0 for _ in array.shape[1:]))

    return pl.BlockSpec((1, *array.shape[1:]), place)

  payload = outputs[0][0]
  return pl.pallas_call(
      kernel,
      out_shape=tuple(array for array, _ in outputs),
      grid_spec=pltpu.PrefetchScalarGridSpec(
          num_scalar_prefetch=1,
          grid=page_M.shape,
          in_specs=[spec(*x) for x in inputs],
          out_specs=tuple(spec(*x) for x in outputs),
      ),
      input_output_aliases=aliases,
      compiler_params=pltpu.CompilerParams(
          dimension_semantics=("arbitrary",)
      ),
      cost_estimate=pl.CostEstimate(
          flops=3 * page_M.size * payload.size // payload.shape[0],
          transcendentals=0,
          bytes_accessed=3 * page_M.size * payload.size // payload.shape[0],
      ),
      interpret=interpret,
      name="kv_move_int8",
  )(page_M, *(array for array, _ in inputs))


def _sides(ref) -> list[tuple[int, jax.Array | None]]:
  """Where keys and values are: (index of the pair, lanes or None for all)."""
  pair, W = ref.shape[1], ref.shape[-1]
  if pair == 2:
    return [(0, None), (1, None)]
  lane = jax.lax.broadcasted_iota(jnp.int32, ref.shape[2:], 2)
  return [(0, lane < W // 2), (0, lane >= W // 2)]


def _round_kernel(_, kv_ref, payload_ref, scale_ref):
  for side, (at, lanes) in enumerate(_sides(kv_ref)):
    x_KCW = kv_ref[0, at].astype(jnp.float32)
    size_KCW = jnp.abs(x_KCW)
    if lanes is not None:
      size_KCW = jnp.where(lanes, size_KCW, 0)
    scale_KC1 = size_KCW.max(axis=-1, keepdims=True) / 127
    scale_ref[0, side] = scale_KC1[..., 0]
    unit_KCW = jnp.round(x_KCW / jnp.maximum(scale_KC1, 1e-30))
    _put(payload_ref, at, lanes, side, unit_KCW)


def _restore_kernel(_, payload_ref, scale_ref, __, kv_ref):
  for side, (at, lanes) in enumerate(_sides(payload_ref)):
    x_KCW = payload_ref[0, at].astype(jnp.float32)
    _put(kv_ref, at, lanes, side, x_KCW * scale_ref[0, side][..., None])


def _put(ref, at, lanes, side, x_KCW) -> None:
  """Stores one side; the second of a packed page keeps the first's lanes."""
  if lanes is not None and side:
    x_KCW = jnp.where(lanes, x_KCW, ref[0, at].astype(jnp.float32))
  ref[0, at] = x_KCW.astype(ref.dtype)
