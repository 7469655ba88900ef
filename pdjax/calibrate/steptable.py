"""Steps in columns, as fits need them."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from pdjax.calibrate.observe import StepSeen
from pdjax.calibrate.occupancy import share_matrix
from pdjax.simulate.fittedcost import PRICES, features


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
  """A row a step."""

  rows: np.ndarray
  """What each is charged for, in the order of `PRICES`."""
  elapsed_ps: np.ndarray
  shares: np.ndarray
  """Of that time, by company."""
  companies: np.ndarray
  """Busy neighbours of each: with prompts, and with decodes alone."""

  def take(self, chosen: np.ndarray) -> "Table":
    """Some of the steps, as often as they are named."""
    return Table(
        self.rows[chosen], self.elapsed_ps[chosen], self.shares[chosen],
        self.companies,
    )

  def beside(self, mix: np.ndarray) -> np.ndarray:
    """Columns of prices alone, and of their rises beside either neighbour.

    `mix`: of each step, neighbours that its work was done beside, in the mean.
    What a rest costs is paid before there are any.
    """
    rising = self.rows.copy()
    rising[:, PRICES.index("rest_ps")] = 0
    return np.hstack([self.rows, *(rising * one[:, None] for one in mix.T)])

  def mix(self, prices: np.ndarray) -> np.ndarray:
    """See `beside`: in a time beside others less of a step's work is done."""
    work = self.shares / self._in_company_ps(prices)
    return (work / work.sum(axis=1, keepdims=True)) @ self.companies

  def priced_ps(self, prices: np.ndarray) -> np.ndarray:
    """Of each step, beside whom it was. `prices`: alone, and both rises."""
    return 1 / (self.shares / self._in_company_ps(prices)).sum(axis=1)

  def _in_company_ps(self, prices: np.ndarray) -> np.ndarray:
    """Of each step, had it been in one company all the time."""
    each = self.rows @ prices.reshape(3, len(PRICES)).T
    return np.maximum(each[:, :1] + each[:, 1:] @ self.companies.T, 1.0)


def table_of(steps: Sequence[StepSeen]) -> Table:
  """The columns of some steps.

  Raises:
    ValueError: there are none.
  """
  if not steps:
    raise ValueError("no step to fit")
  shares, companies = share_matrix([seen.shares for seen in steps])
  return Table(
      np.array([features(seen.shape, seen.padding) for seen in steps], float),
      np.array([seen.elapsed_ps for seen in steps], float),
      shares,
      companies,
  )
