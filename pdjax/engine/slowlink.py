"""A link slower than the real one: bytes arrive when it would have let them.

The copies are real; what has arrived is kept back until a link of that
bandwidth and latency would have delivered it. Each worker has one way out and
one way in; what shares either goes one after the other. (The simulator shares
them out; all bytes are through at the same time.)

Units: `_s` seconds of `time.perf_counter`, `_bytes` bytes.
"""

import threading

from pdjax.config import Link


class SlowLink:
  """Bandwidth of each way, and the time to the first byte."""

  def __init__(self, bandwidth_bytes_per_s: float, latency_s: float):
    self.bandwidth_bytes_per_s = bandwidth_bytes_per_s
    self.latency_s = latency_s
    self._lock = threading.Lock()
    self._free_s: dict[tuple[str, int], float] = {}

  def arrival_s(
      self, source: int, target: int, size_bytes: float, at_s: float
  ) -> float:
    """When bytes that are ready at `at_s` have all arrived."""
    ends = ("out", source), ("in", target)
    with self._lock:
      begins_s = max(at_s, *(self._free_s.get(end, at_s) for end in ends))
      over_s = begins_s + size_bytes / self.bandwidth_bytes_per_s
      self._free_s |= dict.fromkeys(ends, over_s)
    return over_s + self.latency_s


def slow_link(link: Link) -> SlowLink | None:
  """The link of a config; None where no bandwidth is said."""
  if link.bandwidth_bytes_per_s is None:
    return None
  return SlowLink(link.bandwidth_bytes_per_s, link.latency_s)
