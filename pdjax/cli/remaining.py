"""How much of a command's work is done, and about how long the rest takes."""

import time
from collections import Counter
from collections.abc import Iterable

from pdjax.sweep.cells import Cell


class Remaining:
  """Counts cells; kinds of backend take turns and have paces of their own."""

  def __init__(self, cells: Iterable[Cell]):
    self._total = Counter(_kind(cell) for cell in cells)
    self._ended: Counter[str] = Counter()
    self._started: dict[str, float] = {}

  def begin(self, cell: Cell) -> None:
    """A cell's turn has come."""
    self._started.setdefault(_kind(cell), time.monotonic())

  def end(self, cell: Cell) -> str:
    """A cell is done or failed; what there is to say of the others."""
    self._ended[_kind(cell)] += 1
    done, total = self._ended.total(), self._total.total()
    if total == 1:
      return ""
    seconds = self._seconds()
    rest = f", {about(seconds)} left" if seconds else ""
    return f" ({done} of {total}{rest})"

  def _seconds(self) -> float | None:
    """Until all is done; None if nothing of a kind has been seen yet."""
    now, seconds = time.monotonic(), 0.0
    for kind, total in self._total.items():
      ended = self._ended[kind]
      if total > ended:
        if not ended or kind not in self._started:
          return None
        seconds += (now - self._started[kind]) / ended * (total - ended)
    return seconds


def about(seconds: float) -> str:
  """A duration in one figure a reader can plan with."""
  if seconds < 100:
    return f"{seconds:.0f} s"
  if seconds < 100 * 60:
    return f"{seconds / 60:.0f} min"
  return f"{seconds / 3600:.1f} h"


def _kind(cell: Cell) -> str:
  return cell.run.backend.kind
