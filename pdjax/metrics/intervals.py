"""Confidence intervals of figures that a queue produced.

Requests share a queue, so one's latency says much about the next one's. A
formula for independent draws (Wilson's, a bootstrap of requests) takes them
for more evidence than they are: docs/decisions/0010-intervals-for-queues.md
has its coverage. What is independent are runs with seeds of their own
(`replications`) and, nearly, long batches of one run (`batches`).

All intervals here are Student's, on a scale that fits the figure: shares on
the logit scale and ratios on the logarithmic one, where their errors are more
nearly symmetric and a bound cannot leave the range.
"""

import dataclasses
import math
from typing import Literal, assert_never

from scipy.special import expit, logit, stdtrit

CONFIDENCE = 0.95

Scale = Literal["plain", "log", "logit"]


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
  """An estimate and the bounds that hold the truth with some confidence."""

  estimate: float | None
  low: float | None
  """None, as `high`, where there is too little to say."""
  high: float | None
  confidence: float = CONFIDENCE
  method: str
  """How it came about, in a few words."""
  samples: int
  """Replications, batches or blocks it rests on."""
  effective: float | None = None
  """Independent requests that would say as much, where they were counted."""

  def side(self, limit: float) -> Literal["above", "below", "undecided"]:
    """Where the truth is, seen from `limit`."""
    if self.low is None or self.high is None:
      return "undecided"
    if self.low > limit:
      return "above"
    return "below" if self.high < limit else "undecided"


def student(
    estimate: float,
    error: float,
    samples: int,
    method: str,
    *,
    scale: Scale = "plain",
    confidence: float = CONFIDENCE,
    effective: float | None = None,
) -> Interval:
  """Student's interval with `samples` - 1 degrees of freedom.

  Args:
    estimate: on the scale `log` above 0, on `logit` between 0 and 1.
    error: standard error of the estimate.
  """
  quantile = float(stdtrit(samples - 1, (1 + confidence) / 2))
  low, high = _bounds(estimate, quantile * error, scale)
  return Interval(
      estimate=estimate, low=low, high=high, confidence=confidence,
      method=method, samples=samples, effective=effective,
  )


def _bounds(
    estimate: float, reach: float, scale: Scale
) -> tuple[float, float]:
  """`estimate` -+ `reach`, with the reach carried over to the scale."""
  match scale:
    case "plain":
      return estimate - reach, estimate + reach
    case "log":
      factor = math.exp(reach / estimate)
      return estimate / factor, estimate * factor
    case "logit":
      at, around = logit(estimate), reach / (estimate * (1 - estimate))
      return float(expit(at - around)), float(expit(at + around))
    case _:
      assert_never(scale)


def too_few(
    estimate: float | None,
    samples: int,
    method: str,
    confidence: float = CONFIDENCE,
) -> Interval:
  """An estimate without bounds."""
  return Interval(
      estimate=estimate, low=None, high=None, confidence=confidence,
      method=method, samples=samples,
  )
