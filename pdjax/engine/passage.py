"""One transfer from its source's pool to its target's queue, and its mishaps.

The source's thread has copied the pages; the mover's thread goes on from there.
Whatever happens, the scheduler hears of it once: it lands, or it fails.
"""

import threading
import time
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from pdjax.engine.orders import GatherOrder, Passed, ScatterOrder
from pdjax.engine.slowlink import SlowLink
from pdjax.engine.tally import Tally

if TYPE_CHECKING:
  import queue

  from pdjax.engine.orders import Report
  from pdjax.engine.worker import Worker


class Passage:
  """What the mover calls, and what a fault does to it.

  Args:
    order: of the transfer.
    sums: checksums of its pages at the source, or None.
    source: whose pages they were.
    target: whose they will be.
    reports: where `Passed` goes.
    tally: told how it ended, unless the target tells.
    slow: keeps arrivals back; None: the real link as it is.
  """

  def __init__(
      self,
      order: GatherOrder,
      sums: jax.Array | None,
      source: "Worker",
      target: "Worker",
      reports: "queue.SimpleQueue[Report]",
      tally: Tally,
      slow: SlowLink | None = None,
  ):
    self._order, self._sums, self._reports = order, sums, reports
    self._source, self._target, self._tally = source, target, tally
    self._slow = slow
    self._gathered_s = 0.0

  def gathered(self) -> None:
    """The pages are off the source's pool."""
    self._gathered_s = time.perf_counter()
    group = self._order.group
    if group is None or group.first:
      self._reports.put(Passed(self._order.transfer, "gathered"))

  def sent(self, arrived: Any) -> None:
    """The pages are on the target's mesh."""
    if self._slow is None:
      self._arrive(arrived)
      return
    due_s = self._slow.arrival_s(
        self._source.id, self._target.id, self._size_bytes, self._gathered_s
    )
    wait_s = due_s - time.perf_counter()
    later(max(0.0, wait_s), lambda: self._arrive(arrived))

  @property
  def _size_bytes(self) -> float:
    """Of the pages, or of its layers of them; padding does not travel."""
    size_bytes = len(self._order.pages) * self._source.replica.sent_page_bytes
    group = self._order.group
    return size_bytes / group.count if group else size_bytes

  def _arrive(self, arrived: Any) -> None:
    harm = self._order.harm
    match harm.kind if harm else "":
      case "dropped":
        self._fail("its bytes never arrived")
      case "corrupted":
        self._deliver(damaged(arrived))
      case "slowed":
        assert harm is not None
        took_s = time.perf_counter() - self._gathered_s
        later(took_s * (harm.factor - 1), lambda: self._deliver(arrived))
      case _:
        self._deliver(arrived)

  def _deliver(self, arrived: Any) -> None:
    order = self._order
    if self._source.lives != order.life:
      self._fail(f"worker {self._source.id} was lost")
      return
    checksums = None if self._sums is None else np.asarray(self._sums)
    if order.group is None or order.group.last:
      self._reports.put(Passed(order.transfer, "sent"))
    self._target.submit(ScatterOrder(
        order.transfer, arrived, checksums, order.target_pages,
        order.target_life, order.group,
    ))

  def _fail(self, why: str) -> None:
    self._tally.over(self._order.transfer, self._order.group, why)


def later(after_s: float, do: Any) -> None:
  """Does something by a thread of its own, which nobody waits for."""
  timer = threading.Timer(after_s, do)
  timer.daemon = True
  timer.start()


def damaged(staging: Any) -> Any:
  """The same with every sign in its first page turned."""
  leaves, tree = jax.tree.flatten(staging)
  values_LM = np.array(leaves[0])
  size = values_LM.dtype.itemsize
  page = np.ascontiguousarray(values_LM[:, 0])
  page.reshape(-1).view(np.uint8)[size - 1 :: size] ^= 0x80
  values_LM[:, 0] = page
  leaves[0] = jax.device_put(values_LM, leaves[0].sharding)
  return jax.tree.unflatten(tree, leaves)
