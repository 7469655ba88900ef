"""How long clients wait: when they give up, and the deadlines they set.

A cancellation is the client's own secret, as the true length of an answer is;
a deadline is declared on arrival. Both count from the intended arrival, and
neither befalls a request that has ended before.

Units: `_ps` integer picoseconds, 0 for never.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from pdjax import config
from pdjax.request import Request
from pdjax.workload.arrivals import PS_PER_S
from pdjax.workload.columns import Columns
from pdjax.workload.row import LONGEST_S
from pdjax.workload.streams import Stream, rng_of


def cancel_after_ps(
    workload: config.Workload, columns: Columns
) -> dict[int, int]:
  """How long clients wait before they give up, by id, of those that do.

  A trace's own waits stand. Of the other requests each is cancelled with
  probability `cancel_fraction`, after an exponential wait with mean
  `cancel_after_s`. The draws do not depend on the fraction: a larger one
  cancels the same requests at the same times, and more.
  """
  count, rng = len(columns), rng_of(workload, Stream.CANCELLING)
  own_ps = _or_never(columns.cancel_after_ps, count)
  chosen = rng.random(count) < workload.cancel_fraction
  wait_s = rng.standard_exponential(count) * workload.cancel_after_s
  wait_ps = np.rint(np.minimum(wait_s, LONGEST_S) * PS_PER_S).astype(np.int64)
  after_ps = np.where(own_ps, own_ps, chosen * np.maximum(wait_ps, 1))
  ids = np.flatnonzero(after_ps)
  return dict(zip(ids.tolist(), after_ps[ids].tolist(), strict=True))


def deadlines_ps(
    workload: config.Workload, columns: Columns
) -> list[int | None]:
  """The deadline of each request: a trace's own, the config's, or none."""
  own_ps = _or_never(columns.deadline_after_ps, len(columns))
  common_ps = round((workload.deadline_s or 0) * PS_PER_S)
  after_ps = np.where(own_ps, own_ps, common_ps)
  at_ps = (columns.arrival_ps + after_ps).tolist()
  return [
      at if after else None
      for at, after in zip(at_ps, after_ps.tolist(), strict=True)
  ]


def conditions(
    workload: config.Workload,
    requests: Sequence[Request],
    cancels: Mapping[int, int],
) -> dict:
  """What a workload says of its clients' patience, fit for JSON."""
  drawn = workload.cancel_fraction > 0
  return {
      "cancelled": {
          "fraction": workload.cancel_fraction,
          "mean_wait_s": workload.cancel_after_s if drawn else None,
          "requests": len(cancels),
      },
      "deadline": {
          "after_s": workload.deadline_s,
          "requests": sum(r.deadline_ps is not None for r in requests),
      },
  }


def _or_never(after_ps: np.ndarray | None, count: int) -> np.ndarray:
  return np.zeros(count, np.int64) if after_ps is None else after_ps
