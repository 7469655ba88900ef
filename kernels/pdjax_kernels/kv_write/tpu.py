"""`kv_write` for TPU: Mosaic.

A token is less than a tile of memory, so it cannot be written by itself. The
cells of a page that share a tile are a strip. A strip is read, the tokens
that fall into it are put in, and it is written back; several strips are under
way at once. XLA's scatter instead turns the whole cache around and back once a
pass writes more than a few tokens.

Tokens of one strip stand one after the other (the contract), so a strip is
touched once by a program; a program has written all its strips before the next
one reads.

Dimension key: docs/notation.md; J = strips, Z = tokens of a program, W = width
of a cell.
"""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from pdjax_kernels.kv_write.blocks import TpuBlocks
from pdjax_kernels.kv_write.reference import of_cells


def strip_cells(kv_P2KCH: jax.Array) -> int:
  """Cells of a page that share a tile."""
  return min(kv_P2KCH.shape[3], 32 // kv_P2KCH.dtype.itemsize)


def kv_write(
    kv_P2KCH: jax.Array,
    k_TKH: jax.Array,
    v_TKH: jax.Array,
    page_T: jax.Array,
    cell_T: jax.Array,
    *,
    blocks: TpuBlocks | None = None,
    interpret: Any = False,
) -> jax.Array:
  """See reference.py; `blocks` and `interpret` change no result."""
  blocks = blocks or TpuBlocks()
  _, pair, K, _, W = kv_P2KCH.shape
  new_TKW = of_cells(kv_P2KCH, k_TKH, v_TKH).reshape(-1, pair * K, W)
  Z = min(blocks.tokens, new_TKW.shape[0])
  strip = strip_cells(kv_P2KCH)
  start_J, begin_I = _strips(page_T, cell_T, strip, Z)
  return pl.pallas_call(
      functools.partial(_kernel, ahead=blocks.strips // 2),
      out_shape=jax.ShapeDtypeStruct(kv_P2KCH.shape, kv_P2KCH.dtype),
      grid_spec=pltpu.PrefetchScalarGridSpec(
          num_scalar_prefetch=4,
          grid=(begin_I.shape[0] - 1,),
          in_specs=[
              pl.BlockSpec((Z, pair * K, W), lambda i, *_: (i, 0, 0)),
              pl.BlockSpec(memory_space=pl.ANY),
          ],
          out_specs=pl.BlockSpec(memory_space=pl.ANY),
          scratch_shapes=[
              pltpu.VMEM((blocks.strips, pair, K, strip, W), kv_P2KCH.dtype),
              pltpu.SemaphoreType.DMA((blocks.strips,)),
              pltpu.SemaphoreType.DMA((blocks.strips,)),
          ],
      ),
      input_output_aliases={5: 0},
      compiler_params=pltpu.CompilerParams(
          dimension_semantics=("arbitrary",)
      ),
      cost_estimate=pl.CostEstimate(
          flops=0,
          transcendentals=0,
          bytes_accessed=(1 + 2 * strip) * new_TKW.size
          * new_TKW.dtype.itemsize,
      ),
      interpret=interpret,
      name="kv_write",
  )(start_J, begin_I, page_T, cell_T, new_TKW, kv_P2KCH)


def _strips(page_T, cell_T, strip: int, Z: int) -> tuple[jax.Array, jax.Array]:
  """(first token of each strip and T after the last, first strip of a program).

  A strip that goes on in the next program is counted again there.
  """
  T = page_T.shape[0]
  token_T = jnp.arange(T, dtype=jnp.int32)
  here_T2 = jnp.stack([page_T, cell_T // strip], axis=1)
  changed_T = jnp.any(here_T2 != jnp.roll(here_T2, 1, axis=0), axis=1)
  opens_T = changed_T | (token_T % Z == 0)
  start_J = jnp.sort(jnp.where(opens_T, token_T, T))
  opens_IZ = jnp.pad(opens_T, (0, -T % Z)).reshape(-1, Z)
  begin_I = jnp.cumsum(opens_IZ.sum(axis=1, dtype=jnp.int32))
  return jnp.append(start_J, T), jnp.pad(begin_I, (1, 0))


@dataclasses.dataclass(frozen=True)
class _Ring:
  """Strips on their way from and to the cache."""

  start_ref: Any
  page_ref: Any
  cell_ref: Any
  kv_ref: Any
  buffer_ref: Any
  read_sem: Any
  write_sem: Any

  def slot(self, j):
    return jax.lax.rem(j, self.buffer_ref.shape[0])

  def read(self, j):
    return pltpu.make_async_copy(
        self._strip(j), self.buffer_ref.at[self.slot(j)],
        self.read_sem.at[self.slot(j)],
    )

  def write(self, j):
    return pltpu.make_async_copy(
        self.buffer_ref.at[self.slot(j)], self._strip(j),
        self.write_sem.at[self.slot(j)],
    )

  def _strip(self, j):
    token, cells = self.start_ref[j], self.buffer_ref.shape[3]
    first = pl.multiple_of(
        jax.lax.div(self.cell_ref[token], cells) * cells, cells
    )
    return self.kv_ref.at[self.page_ref[token], :, :, pl.ds(first, cells)]


def _kernel(
    start_ref, begin_ref, page_ref, cell_ref, new_ref, _, kv_ref, buffer_ref,
    read_sem, write_sem, *, ahead,
):
  i, strips = pl.program_id(0), buffer_ref.shape[0]
  begin, end = begin_ref[i], begin_ref[i + 1]
  first_token = i * new_ref.shape[0]
  ring = _Ring(
      start_ref, page_ref, cell_ref, kv_ref, buffer_ref, read_sem, write_sem
  )

  @pl.loop(begin, jnp.minimum(begin + ahead, end))
  def _(j):
    ring.read(j).start()

  @pl.loop(begin, end)
  def _(j):
    ring.read(j).wait()
    _fill(ring, j, new_ref, first_token)
    ring.write(j).start()

    @pl.when(j + ahead < end)
    def _():
      @pl.when(j + ahead - strips >= begin)
      def _():
        ring.write(j + ahead - strips).wait()

      ring.read(j + ahead).start()

  @pl.loop(jnp.maximum(begin, end - strips), end)
  def _(j):
    ring.write(j).wait()


def _fill(ring: _Ring, j, new_ref, first_token) -> None:
  """Puts strip j's tokens into it."""
  _, pair, K, cells, W = ring.buffer_ref.shape
  shape = (pair * K, cells, W)
  cell = jax.lax.broadcasted_iota(jnp.int32, shape, 1)

  def put(token, strip_KSW):
    here = cell == jax.lax.rem(ring.cell_ref[token], cells)
    new_KW = new_ref[token - first_token]
    return jnp.where(here, jnp.broadcast_to(new_KW[:, None], shape), strip_KSW)

  at = ring.buffer_ref.at[ring.slot(j)]
  strip_KSW = jax.lax.fori_loop(
      ring.start_ref[j], ring.start_ref[j + 1], put, at[...].reshape(shape)
  )
  at[...] = strip_KSW.reshape(pair, K, cells, W)
