"""Moves pages between meshes: staging arrays, one thread, checksums.

A page pool is read and written by its worker alone. The worker copies pages
into a staging array, which is never donated; the mover's thread, and no other,
puts it onto the target mesh, since `device_put` between meshes of unequal size
can block until its source is computed. The target's worker then writes it into
its own pool. Heads are split anew, copied or dropped on the way.

Dimension key: docs/notation.md. Units: `_bytes` bytes.
"""

import dataclasses
import queue
import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from pdjax import tracks
from pdjax.marks import marked

Put = Callable[[Any, Any], Any]
"""(arrays, their shardings on another mesh) -> the arrays there."""


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
  """Name of the link in a JAX trace."""


class Mover:
  """The one thread that moves arrays between meshes, in order."""

  def __init__(
      self,
      failed: Callable[[BaseException], None],
      put: Put = jax.device_put,
  ):
    """`failed` is told what ended the thread; `put` does the moving."""
    self._failed = failed
    self._put = put
    self._shipments: queue.SimpleQueue[Shipment | None] = queue.SimpleQueue()
    self._thread = threading.Thread(
        target=self._main, name="transfer", daemon=True
    )
    self._thread.start()

  def ship(self, shipment: Shipment) -> None:
    self._shipments.put(shipment)

  def close(self) -> None:
    """Ends the thread after the shipments under way."""
    self._shipments.put(None)
    self._thread.join()

  def _main(self) -> None:
    try:
      while (shipment := self._shipments.get()) is not None:
        self._carry(shipment)
    except BaseException as error:
      self._failed(error)

  def _carry(self, shipment: Shipment) -> None:
    jax.block_until_ready(shipment.staging)
    shipment.gathered()
    with marked(shipment.track, tracks.SEND):
      arrived = self._put(shipment.staging, shipment.sharding)
      jax.block_until_ready(arrived)
    shipment.sent(arrived)


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
