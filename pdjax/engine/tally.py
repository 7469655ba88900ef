"""Whether a transfer is over, of which parts may land or fail one by one.

Parts are groups of layers. They may be told of by any thread and in any order;
the scheduler hears once, after the last.
"""

import queue
import threading

from pdjax.engine.orders import Group, Landed, Report


class Tally:
  """Counts parts; `reports` is where `Landed` goes."""

  def __init__(self, reports: "queue.SimpleQueue[Report]"):
    self._reports = reports
    self._lock = threading.Lock()
    self._parts: dict[int, tuple[int, str]] = {}
    """(how many are over, why the first of them failed) by transfer."""

  def over(self, transfer: int, group: Group | None, failure: str = "") -> None:
    """All of a transfer, or a group of its layers, has landed or failed."""
    if group is not None:
      with self._lock:
        parts, before = self._parts.pop(transfer, (0, ""))
        failure = before or failure
        if parts + 1 < group.count:
          self._parts[transfer] = parts + 1, failure
          return
    self._reports.put(Landed(transfer, failure))
