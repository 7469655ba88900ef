"""Moves pages between meshes: staging arrays, one thread, checksums.

A page pool is read and written by its worker alone. The worker copies pages
into a staging array, which is never donated; the mover's thread, and no other,
puts it onto the target mesh, since `device_put` between meshes of unequal size
can block until its source is computed. The target's worker then writes it into
its own pool. Heads are split anew, copied or dropped on the way.

Dimension key: docs/notation.md. Units: `_bytes` bytes.
"""

import collections
import dataclasses
import threading
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from pdjax import tracks
from pdjax.marks import marked

Put = Callable[[Any, Any], Any]
"""(tuple of arrays, their shardings on another mesh) -> the arrays there."""

BATCH_BYTES = 2**20
"""Most of several shipments in one put: so much the first of them may have to
wait for. On a CPU's devices a put of its own takes some 45 us before its bytes
count, a place in another's some 27 us (8 at a time, fastest of 40), and a
mebibyte about 100 us; with shipments of a mebibyte each nothing was gained."""


@dataclasses.dataclass(frozen=True, slots=True)
class Shipment:
  """A staging array, where it goes, and who wants to hear of it."""

  staging: Any
  """staging_LM2KCH, or arrays in a tuple."""
  sharding: Any
  """On the target mesh."""
  gathered: Callable[[], None]
  """Called when the pages are off the source's pool."""
  sent: Callable[[Any], None]
  """Called with the array once it is whole on the target mesh."""
  track: str = "link"
  """Name of the link, also in a JAX trace."""

  @property
  def size_bytes(self) -> int:
    """With the padding of its arrays."""
    return sum(leaf.nbytes for leaf in jax.tree.leaves(self.staging))

  def joins(self, first: "Shipment") -> bool:
    """Whether it goes the same way and is off its source's pool."""
    leaves = jax.tree.leaves(self.staging)
    return self.track == first.track and all(x.is_ready() for x in leaves)


class Mover:
  """The one thread that moves arrays between meshes, in order.

  Small shipments of one link that are ready when a put begins go in it
  together; none waits for one that is not.
  """

  def __init__(
      self,
      failed: Callable[[BaseException], None],
      put: Put = jax.device_put,
  ):
    """`failed` is told what ended the thread; `put` does the moving."""
    self._failed = failed
    self._put = put
    self._shipments: collections.deque[Shipment] = collections.deque()
    self._closing = False
    self._changed = threading.Condition()
    self._thread = threading.Thread(
        target=self._main, name="transfer", daemon=True
    )
    self._thread.start()

  def ship(self, shipment: Shipment) -> None:
    with self._changed:
      self._shipments.append(shipment)
      self._changed.notify()

  def close(self) -> None:
    """Ends the thread after the shipments under way."""
    with self._changed:
      self._closing = True
      self._changed.notify()
    self._thread.join()

  def _main(self) -> None:
    try:
      while first := self._next():
        jax.block_until_ready(first.staging)
        self._carry([first, *self._beside(first)])
    except BaseException as error:
      self._failed(error)

  def _next(self) -> Shipment | None:
    """Waits for a shipment; None when there will be no more."""
    with self._changed:
      self._changed.wait_for(lambda: self._shipments or self._closing)
      return self._shipments.popleft() if self._shipments else None

  def _beside(self, first: Shipment) -> Iterator[Shipment]:
    """Those right behind a shipment that can go in the same put."""
    total_bytes = first.size_bytes
    with self._changed:
      while self._shipments:
        after = self._shipments[0]
        total_bytes += after.size_bytes
        if total_bytes > BATCH_BYTES or not after.joins(first):
          return
        yield self._shipments.popleft()

  def _carry(self, batch: list[Shipment]) -> None:
    """Moves what is ready on its source."""
    for shipment in batch:
      shipment.gathered()
    staging = tuple(shipment.staging for shipment in batch)
    with marked(batch[0].track, tracks.SEND):
      arrived = self._put(staging, tuple(one.sharding for one in batch))
      jax.block_until_ready(arrived)
    for shipment, array in zip(batch, arrived, strict=True):
      shipment.sent(array)


def checksums(pages_LM2KCH: jax.Array, heads: int) -> jax.Array:
  """A checksum of each page and head copy, uint32 [copies, M].

  Adds every value's bits, times an odd number of its place and then mixed, so
  that swapped and changed values show, NaN too. Unmixed, a value's highest bit
  would change the sum by half its range, and two such changes not at all: a
  page with every sign turned would look sound. Where heads are stored in
  copies, each set of `heads` heads is summed by itself: sound pages have equal
  rows, whatever the degree of tensor parallelism.
  """
  L, M, pair, K, C, H = pages_LM2KCH.shape
  bits = _bits(pages_LM2KCH).reshape(L, M, pair, heads, K // heads, C, H)
  shape = (L, 1, pair, heads, 1, C, H)
  place = jnp.arange(L * pair * heads * C * H, dtype=jnp.uint32).reshape(shape)
  weighted = bits * (jnp.uint32(2) * place + jnp.uint32(1))
  sums_MR = jnp.sum(_mixed(weighted), axis=(0, 2, 3, 5, 6), dtype=jnp.uint32)
  return sums_MR.T


def _mixed(words: jax.Array) -> jax.Array:
  """Every bit of a uint32 reaches most others, and none is lost: two rounds of
  xorshift and multiply with the constants of lowbias32 (Wellons, 2018)."""
  words = (words ^ (words >> jnp.uint32(16))) * jnp.uint32(0x7FEB352D)
  words = (words ^ (words >> jnp.uint32(15))) * jnp.uint32(0x846CA68B)
  return words ^ (words >> jnp.uint32(16))


def _bits(values: jax.Array) -> jax.Array:
  unsigned = jnp.dtype(f"uint{8 * values.dtype.itemsize}")
  return jax.lax.bitcast_convert_type(values, unsigned).astype(jnp.uint32)
