"""Steps in columns, as fits need them."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from pdjax.calibrate.observe import StepSeen
from pdjax.calibrate.occupancy import share_matrix
from pdjax.simulate.fittedcost import features
from pdjax.simulate.sharing import Sharing


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
  """A row a step."""

  rows: np.ndarray
  """What each is charged for, in the order of `PRICES`."""
  elapsed_ps: np.ndarray
  shares: np.ndarray
  """Of that time, by number of busy workers less one."""
  prompts: np.ndarray
  """Whether it has any."""

  def take(self, chosen: np.ndarray) -> "Table":
    """Some of the steps, as often as they are named."""
    columns = dataclasses.astuple(self)
    return Table(*(column[chosen] for column in columns))

  def pace(self, sharing: Sharing) -> np.ndarray:
    """Of each step: its mean speed, over that of the same step alone."""
    others = np.arange(self.shares.shape[1])
    share = np.where(self.prompts, sharing.prompt, sharing.decode)
    return (self.shares / (1 + share[:, None] * others)).sum(axis=1)


def table_of(steps: Sequence[StepSeen]) -> Table:
  """The columns of some steps.

  Raises:
    ValueError: there are none.
  """
  if not steps:
    raise ValueError("no step to fit")
  return Table(
      np.array([features(seen.shape, seen.padding) for seen in steps], float),
      np.array([seen.elapsed_ps for seen in steps], float),
      share_matrix([seen.shares for seen in steps]),
      np.array([bool(seen.shape.prefill) for seen in steps]),
  )
