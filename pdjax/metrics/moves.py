"""Transfers one by one: from where, to where, when in flight and on the link.

Units: `_ns` integer nanoseconds, `_bytes` bytes.
"""

import dataclasses

import numpy as np

from pdjax.events import Transfer, TransferEnded, TransferProgressed
from pdjax.metrics.spans import Spans


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Moves:
  """A transfer each, in order of start."""

  source: np.ndarray
  target: np.ndarray
  begin_ns: np.ndarray
  gathered_ns: np.ndarray
  """Off the source's pages; the start where the log has no such stage."""
  sent_ns: np.ndarray
  """Over the link; the end where the log has no such stage."""
  end_ns: np.ndarray
  moved_bytes: np.ndarray
  """What arrived; 0 of a transfer that failed or never ended."""

  def __len__(self) -> int:
    return len(self.source)

  def inbound(self) -> Spans:
    """Spans with pages in flight to a worker."""
    return Spans.of(self.target, self.begin_ns, self.end_ns)

  def on_links(self) -> tuple[Spans, Spans]:
    """Spans in which each worker's way out, and its way in, carries bytes."""
    return (
        Spans.of(self.source, self.gathered_ns, self.sent_ns),
        Spans.of(self.target, self.gathered_ns, self.sent_ns),
    )

  def most_bytes(self, begin_ns: np.ndarray) -> int:
    """The most bytes between `begin_ns` and the end at one time."""
    at_ns = np.concatenate([self.end_ns, begin_ns])
    change = np.concatenate([-self.moved_bytes, self.moved_bytes])
    # Stable, ends first: what ends and what begins at once never add up.
    running = np.cumsum(change[np.argsort(at_ns, kind="stable")])
    return int(running.max(initial=0))


class MovesRead:
  """Collects transfers while a log is read."""

  def __init__(self):
    self._rows: list[list[int]] = []
    self._open: dict[int, list[int]] = {}

  def note(
      self, at_ps: int, entry: Transfer | TransferProgressed | TransferEnded
  ) -> None:
    """An entry of the log, in its order."""
    at_ns = at_ps // 1000
    if isinstance(entry, Transfer):
      row = [entry.source, entry.target, at_ns, at_ns, -1, -1, 0]
      self._open[entry.transfer] = row
      self._rows.append(row)
    elif isinstance(entry, TransferProgressed):
      self._open[entry.transfer][3 if entry.stage == "gathered" else 4] = at_ns
    else:
      row = self._open.pop(entry.transfer)
      row[5] = at_ns
      row[4] = at_ns if row[4] < 0 else row[4]
      row[6] = 0 if entry.failure else entry.moved_bytes

  def made(self, end_ps: int) -> Moves:
    """All transfers; those in flight last until `end_ps`."""
    for row in self._open.values():
      row[5] = end_ps // 1000
      row[4] = row[5] if row[4] < 0 else row[4]
    return Moves(*np.array(self._rows, np.int64).reshape(-1, 7).T)
