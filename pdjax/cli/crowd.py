"""Whether other programs used the cores that a run was measured on.

Latencies of a machine that does something else besides are not those of the
machine. Linux counts what every core did; less what this process used, that is
what others did.
"""

import os
from pathlib import Path
from typing import NamedTuple

STAT = Path("/proc/stat")
_BUSY = (0, 1, 2, 5, 6, 7)
"""Of a core's counters: user, nice, system, irq, softirq, stolen."""
_COUNTED = 8
"""The counters that add up to all of its time; later ones are parts of them."""


class _Spent(NamedTuple):
  """Ticks so far, of the cores that this process may use."""

  busy: int
  total: int
  ours: float


class Crowd:
  """Others on our cores, from its making on."""

  def __init__(self, stat: Path = STAT):
    """`stat` is what Linux says of its cores."""
    self._stat = stat
    self._began = _spent(stat)

  def share(self) -> float | None:
    """Of the cores' time, what other programs used; None: nobody counts it."""
    now = _spent(self._stat)
    if now is None or self._began is None:
      return None
    busy, total, ours = (b - a for a, b in zip(self._began, now, strict=True))
    return min(1.0, max(0.0, (busy - ours) / total)) if total > 0 else None


def _spent(stat: Path) -> _Spent | None:
  try:
    lines = stat.read_text().splitlines()
    allowed = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    cores = [
        [int(ticks) for ticks in line.split()[1:]]
        for line in lines
        if line.split(" ", 1)[0] in allowed
    ]
    busy = sum(core[at] for core in cores for at in _BUSY)
  except (OSError, AttributeError, ValueError, IndexError):
    return None  # no Linux, or one that hides it
  ours = os.times()
  return _Spent(
      busy,
      sum(sum(core[:_COUNTED]) for core in cores),
      (ours.user + ours.system) * os.sysconf("SC_CLK_TCK"),
  )
