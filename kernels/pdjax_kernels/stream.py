"""Pages on their way from HBM, block by block, ahead of the work on TPU.

A visit reads the part of one context that some queries see. Visits follow one
another; while a block is worked on the next one is under way, and at a visit's
last block the first one of the next visit that sees anything. At short
contexts that is most of the time.

Dimension key: docs/notation.md; V = visits, Y = pages of a block, W = width
of a cell.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def following(first_V: jax.Array, end_V: jax.Array) -> jax.Array:
  """The next visit that sees something, V if none; at [V] the first one."""
  V = first_V.shape[0]
  place_V = jnp.where(first_V < end_V, jnp.arange(V, dtype=jnp.int32), V)
  from_V = jax.lax.cummin(place_V, reverse=True)
  return jnp.concatenate([from_V[1:], jnp.full(1, V, jnp.int32), from_V[:1]])


def scratch(shape: tuple[int, ...], dtype) -> list[Any]:
  """Memory for two blocks of shape [Y, pair, heads, C, W]."""
  return [
      pltpu.VMEM((2, *shape), dtype),
      pltpu.SemaphoreType.DMA((2,)),
      pltpu.SMEM((1,), jnp.int32),
  ]


@dataclasses.dataclass(frozen=True)
class PageStream:
  """Reads what each visit sees: positions [first, end), through its pages."""

  page_ref: Any
  """Page tables, one after the other."""
  table_pages: int
  """M."""
  num_tables: int
  """Visit v uses table v % num_tables."""
  first_ref: Any
  end_ref: Any
  following_ref: Any
  kv_ref: Any
  first_head: Any
  buffer_ref: Any
  sem_ref: Any
  slot_ref: Any
  """The buffer whose block is next; kept from program to program."""

  def visit(self, v, use: Callable[[Any, Any], None]) -> None:
    """Calls `use(block_ref, position of its first cell)` on each block."""
    count, V = self._count(v), self.first_ref.shape[0]

    @pl.when(v == self.following_ref[V])
    def _():
      self.slot_ref[0] = 0
      self._start(v, 0, 0)

    @pl.loop(0, count)
    def _(i):
      slot = self.slot_ref[0]
      more = i + 1 < count
      then = jnp.where(more, v, self.following_ref[v])

      @pl.when(then < V)
      def _():
        self._start(then, jnp.where(more, i + 1, 0), 1 - slot)

      self._wait(v, i, slot)
      at = self._first_page(v) * self._page_cells + i * self._block_cells
      use(self.buffer_ref.at[slot], at)
      self.slot_ref[0] = 1 - slot

  @property
  def _page_cells(self) -> int:
    return self.buffer_ref.shape[4]

  @property
  def _block_cells(self) -> int:
    return self.buffer_ref.shape[1] * self._page_cells

  def _first_page(self, v):
    return jax.lax.div(self.first_ref[v], self._page_cells)

  def _count(self, v):
    cells = self.end_ref[v] - self._first_page(v) * self._page_cells
    sees = self.first_ref[v] < self.end_ref[v]
    return jnp.where(sees, pl.cdiv(cells, self._block_cells), 0)

  def _start(self, v, i, slot):
    self._each_page(v, i, slot, lambda copy: copy.start())

  def _wait(self, v, i, slot):
    self._each_page(v, i, slot, lambda copy: copy.wait())

  def _each_page(self, v, i, slot, act):
    _, Y, _, heads, _, _ = self.buffer_ref.shape
    table = jax.lax.rem(v, self.num_tables) * self.table_pages
    begin = self._first_page(v) + i * Y
    end = jnp.minimum(begin + Y, pl.cdiv(self.end_ref[v], self._page_cells))

    @pl.loop(begin, end)
    def _(m):
      act(pltpu.make_async_copy(
          self.kv_ref.at[
              self.page_ref[table + m], :, pl.ds(self.first_head, heads)
          ],
          self.buffer_ref.at[slot, m - begin],
          self.sem_ref.at[slot],
      ))
