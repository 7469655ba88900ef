"""Cells as tasks of a cluster; their results come through the file system.

A task is one cell: a job in JSON for a function that runs it and keeps the run
where a command on that machine would. All that comes back is that the task has
ended, so the machines share a folder and nothing else. A task that is lost,
with its process or its machine, costs one more try of its cell.
"""

import collections
import dataclasses
import time
from collections.abc import Callable, Collection, Generator, Hashable, Sequence
from typing import Any, Protocol

from pdjax.sweep.cells import Cell

Job = dict[str, Any]
Task = Hashable
_TRIES = 2
_PAUSE_S = 0.2


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ended:
  """A cell whose task is over."""

  cell: Cell
  lost: str = ""
  """Why the task did not come to its end; empty if it did."""


class Cluster(Protocol):
  """Whoever runs tasks on other machines, or in other processes of this one."""

  @property
  def width(self) -> int | None:
    """How many tasks it is to have at a time; None leaves that to it."""
    ...

  def submit(self, function: str, jobs: Sequence[Job]) -> Sequence[Task]:
    """Starts a task a job, which calls `module:function` with the job."""
    ...

  def ended(self, tasks: Collection[Task]) -> dict[Task, str]:
    """The tasks that are over, each with why it was lost, empty if not."""
    ...

  def cancel(self, tasks: Collection[Task]) -> None:
    """Ends tasks that are not over."""
    ...


def work(
    cells: Sequence[Cell],
    cluster: Cluster,
    function: str,
    job_of: Callable[[Cell], Job],
    say: Callable[[Cell, str], None],
) -> Generator[Ended, None, None]:
  """Has cells run; they come back as their tasks end, lost ones at last.

  Args:
    cells: what is to be run, in this order.
    cluster: runs them.
    function: `module:function`, called with a job there.
    job_of: what a task has to know of its cell, asked when its turn comes.
    say: is told what happens to a cell.
  """
  waiting = collections.deque((cell, 1) for cell in cells)
  busy: dict[Task, tuple[Cell, int]] = {}
  try:
    while waiting or busy:
      wide = len(waiting) + len(busy) if cluster.width is None else (
          cluster.width
      )
      batch = [
          waiting.popleft()
          for _ in range(min(len(waiting), wide - len(busy)))
      ]
      if batch:
        jobs = [job_of(cell) for cell, _ in batch]
        busy |= zip(cluster.submit(function, jobs), batch, strict=True)
      ended = cluster.ended(busy.keys())
      for task, lost in ended.items():
        cell, tries = busy.pop(task)
        if not lost or tries == _TRIES:
          again = f", {_TRIES} times" if lost else ""
          yield Ended(cell=cell, lost=f"{lost}{again}")
        else:
          say(cell, f"{lost}; once more")
          waiting.append((cell, tries + 1))
      if not ended:
        time.sleep(_PAUSE_S)
  finally:
    cluster.cancel(busy.keys())
