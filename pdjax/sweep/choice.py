"""Which of an experiment's cells are run by one command, and in which order.

Everything follows from the cells themselves, so commands on machines that do
not know of each other share them out without overlap.
"""

import hashlib
from collections.abc import Iterable, Sequence

from pdjax.sweep.cells import Cell


def share(cells: Sequence[Cell], index: int, count: int) -> tuple[Cell, ...]:
  """The `index`-th of `count` shares, from 1; sizes differ by one at most.

  Cells that are the same work but for the SLO stay together.
  """
  works = sorted({cell.work_id for cell in cells})
  mine = set(works[index - 1 :: count])
  return tuple(cell for cell in cells if cell.work_id in mine)


def with_ids(cells: Iterable[Cell], starts: Iterable[str]) -> tuple[Cell, ...]:
  """Cells whose ids start with one of some texts."""
  starts = tuple(starts)
  return tuple(cell for cell in cells if cell.id.startswith(starts))


def shuffled(cells: Sequence[Cell], name: str) -> tuple[Cell, ...]:
  """In an order that says nothing of what the cells are.

  It is the same for any choice of cells, every time.

  Args:
    name: the experiment's: another one has another order.
  """

  def place(cell: Cell) -> str:
    return hashlib.sha256(f"{name} {cell.id}".encode()).hexdigest()

  return tuple(sorted(cells, key=place))


def in_order(
    cells: Sequence[Cell], order: str | None, name: str
) -> tuple[Cell, ...]:
  """As given or shuffled; None shuffles measured cells alone.

  A machine that gets warmer or busier during a sweep must not look like a
  trend over its grid. Simulated cells have no drift.
  """
  measured = [cell for cell in cells if cell.run.backend.kind == "jax"]
  simulated = [cell for cell in cells if cell.run.backend.kind != "jax"]
  if order == "given":
    return tuple(cells)
  if order == "shuffled":
    return shuffled(cells, name)
  return (*simulated, *shuffled(measured, name))
