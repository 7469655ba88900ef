"""The rows of a trace that are wanted, gathered in little memory.

Units: `_ps` integer picoseconds of the trace's own clock.
"""

import array
import dataclasses

import numpy as np

from pdjax.workload.arrivals import LIMIT_PS
from pdjax.workload.row import Row


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ask:
  """What of a trace is asked for; a row outside is read and not kept."""

  first: int | None = None
  """The earliest so many; None: all."""
  end_ps: int | None = None
  """Before this time after the earliest row; None: to the end."""
  skip_bad: bool = False
  """Rows with mistakes are counted and left out."""


class Kept:
  """Takes rows in the file's order."""

  def __init__(self, ask: Ask, named: bool):
    self._ask = ask
    self._columns = [array.array("q") for _ in range(5)]
    self._ids: list[tuple[int, ...]] | None = [] if named else None
    self.rows = 0
    """Taken so far, kept or not."""
    self.late_rows = 0
    """Of these, after a row of a later time."""
    self._origin_ps = self._latest_ps = self._earliest_ps = 0
    """The first row's time, and the span of all rows from there."""

  def take(self, row: Row) -> None:
    if not self.rows:
      self._origin_ps = row.at_ps
    at_ps = row.at_ps - self._origin_ps
    self.rows += 1
    self.late_rows += at_ps < self._latest_ps
    self._latest_ps = max(at_ps, self._latest_ps)
    self._earliest_ps = min(at_ps, self._earliest_ps)
    end_ps = self._ask.end_ps
    if end_ps is not None and at_ps - self._earliest_ps >= end_ps:
      return
    at_ps = min(max(at_ps, -LIMIT_PS), LIMIT_PS)
    values = (
        at_ps, row.prompt_tokens, row.output_tokens, row.cancel_after_ps,
        row.deadline_after_ps,
    )
    for column, value in zip(self._columns, values, strict=True):
      column.append(value)
    if self._ids is not None:
      self._ids.append(row.prefix_ids)
    most = self._ask.first
    if most is not None and len(self._columns[0]) >= 2 * most + 1000:
      self._cut(most)

  @property
  def span_ps(self) -> int:
    """From the earliest row to the latest, kept or not."""
    return self._latest_ps - self._earliest_ps

  def sorted(self) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Columns [5, rows] in order of time, equal times in file order; ids."""
    self._cut(self._ask.first)
    table = np.array(self._columns, np.int64).reshape(5, -1)
    if self._ask.end_ps is None:
      return table, self._ids or []
    keep = table[0] - self._earliest_ps < self._ask.end_ps
    ids = [id for id, k in zip(self._ids or [], keep, strict=False) if k]
    return table[:, keep], ids

  def _cut(self, most: int | None) -> None:
    """Sorts what is kept, and keeps the earliest."""
    order = np.argsort(
        np.array(self._columns[0], np.int64), kind="stable"
    )[:most]
    self._columns = [
        array.array("q", np.array(column, np.int64)[order].tobytes())
        for column in self._columns
    ]
    if self._ids is not None:
      self._ids = [self._ids[place] for place in order]
