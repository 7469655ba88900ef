"""Steps in columns, as fits need them."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from pdjax.calibrate.observe import StepSeen
from pdjax.calibrate.occupancy import share_matrix
from pdjax.simulate.fittedcost import PRICES, features

Equations = tuple[np.ndarray, np.ndarray]
"""A row of coefficients each, and what they are to sum up to."""

FEW = 5
"""Steps that the mean rise of all prices counts as, for each of them."""
_LEAST = 1e-3
"""Of a mean step's time: a price below is taken for that much of it."""
_REST = PRICES.index("rest_ps")


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
    rising[:, _REST] = 0
    return np.hstack([self.rows, *(rising * one[:, None] for one in mix.T)])

  def prior(self, prices: np.ndarray) -> Equations:
    """That each price rises by the share that all rise by in the mean, beside
    either neighbour; relative, so that they weigh like steps do."""
    alone, *rises = prices.reshape(3, len(PRICES))
    scale_ps = np.maximum(alone, _LEAST * self._usual_ps())
    equations, aims = [], []
    for side, (rise, mix) in enumerate(
        zip(rises, self.mix(prices).T, strict=True), 1
    ):
      beside_ps = mix @ (self.rows @ alone)
      share = mix @ (self.rows @ rise) / beside_ps if beside_ps else 0.0
      rows = np.zeros((len(PRICES), prices.size))
      own = np.arange(len(PRICES))
      rows[own, side * len(PRICES) + own] = np.sqrt(FEW) / scale_ps
      equations.append(np.delete(rows, _REST, axis=0))
      aims.append(np.delete(np.sqrt(FEW) * share * alone / scale_ps, _REST))
    return np.vstack(equations), np.concatenate(aims)

  def _usual_ps(self) -> np.ndarray:
    """Of each feature: the time of a step over how much of it is in one."""
    return self.elapsed_ps.mean() / np.maximum(self.rows.mean(axis=0), 1e-12)

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
