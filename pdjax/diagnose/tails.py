"""How long the tails are that a client saw, and what goes with them.

A tail is a high percentile over the median: p99 where enough requests support
it, else p90. Where requests are known one by one, more can be asked: whether
long gaps go with the first tokens of others, how much of the TTFT is more than
the prompts themselves need, whether it grows.

Units: `_ms` milliseconds.
"""

import dataclasses

import numpy as np

from pdjax.digits import plain
from pdjax.foreign.observed import Observed, Requests
from pdjax.metrics.percentiles import needed

_LONG_GAP = 3.0
"""Medians."""
_NEAR = 0.1
"""Of a gap: a first token so soon after it is taken to have made it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Tail:
  """Of one metric."""

  metric: str
  statistic: str
  """`p99` or `p90`."""
  median_ms: float
  high_ms: float

  @property
  def ratio(self) -> float:
    return self.high_ms / self.median_ms if self.median_ms > 0 else 1.0

  def __str__(self) -> str:
    return (
        f"{self.metric.upper()} {self.statistic} is {plain(self.high_ms)} ms,"
        f" {plain(self.ratio, 2)} times the median of"
        f" {plain(self.median_ms)} ms"
    )


def tail(seen: Observed, metric: str) -> Tail | None:
  """The tail of a metric; None where the data holds none."""
  values = values_of(seen.requests, metric) if seen.requests else None
  if values is not None and len(values):
    for percent in (99, 90):
      if len(values) >= needed(percent):
        median, high = np.percentile(values, (50, percent))
        return Tail(metric, f"p{percent}", float(median), float(high))
    return None
  median = seen.figures.get(f"p50_{metric}_ms")
  for percent in (99, 90):
    high = seen.figures.get(f"p{percent}_{metric}_ms")
    # Pooled gaps are many; of others there is one a request.
    enough = metric == "itl" or (seen.completed or 0) >= needed(percent)
    if None not in (median, high) and enough:
      assert median is not None and high is not None
      return Tail(metric, f"p{percent}", median, high)
  return None


def values_of(requests: Requests, metric: str) -> np.ndarray | None:
  """A metric's values, a request each (`itl`: a gap each)."""
  if metric != "itl":
    values = getattr(requests, f"{metric}_ms", None)
    if metric == "tpot" and values is None and requests.gaps_ms is not None:
      return np.array([g.mean() for g in requests.gaps_ms if len(g)])
    return values
  if requests.gaps_ms is None:
    return None
  return np.concatenate([np.empty(0), *requests.gaps_ms])


def mean_of(seen: Observed, metric: str) -> float | None:
  """Stated, or of the requests."""
  if f"mean_{metric}_ms" in seen.figures:
    return seen.figures[f"mean_{metric}_ms"]
  values = values_of(seen.requests, metric) if seen.requests else None
  return float(values.mean()) if values is not None and len(values) else None


def waiting_share(requests: Requests) -> float | None:
  """Share of all TTFT that is more than the prompts need, at the rate for each
  prompt token that the fastest twentieth of the requests saw."""
  tokens = requests.prompt_tokens
  if tokens is None or len(tokens) < needed(90) or not (tokens > 0).all():
    return None
  least = np.quantile(requests.ttft_ms / tokens, 0.05)
  total_ms = requests.ttft_ms.sum()
  if total_ms <= 0:
    return None
  needs_ms = np.minimum(least * tokens, requests.ttft_ms).sum()
  return float(1 - needs_ms / total_ms)


def growth(requests: Requests) -> float | None:
  """Median TTFT of the last third to be sent over that of the first."""
  start_s = requests.start_s
  if start_s is None or len(start_s) < needed(90):
    return None
  ttft_ms = requests.ttft_ms[np.argsort(start_s, kind="stable")]
  third = len(ttft_ms) // 3
  first_ms, last_ms = np.median(ttft_ms[:third]), np.median(ttft_ms[-third:])
  return float(last_ms / first_ms) if first_ms > 0 else None


@dataclasses.dataclass(frozen=True, slots=True)
class LongGaps:
  """Gaps of more than three medians."""

  count: int
  with_first_token: float
  """Share of them that end with the first token of another request."""
  by_chance: float
  """That share if first tokens fell anywhere in the run alike."""
  excess_ms: float
  """Of a request, what they are beyond the median gap."""

  @property
  def from_prompts(self) -> bool:
    return self.with_first_token >= max(0.5, 1.5 * min(self.by_chance, 0.66))


def long_gaps(requests: Requests) -> LongGaps | None:
  """What goes with the long gaps; None where gaps or times are not known."""
  if requests.gaps_ms is None or requests.start_s is None:
    return None
  first_ms = 1000 * requests.start_s + requests.ttft_ms
  ends, gaps = [], []
  for begin_ms, each in zip(first_ms, requests.gaps_ms, strict=True):
    ends.append(begin_ms + np.cumsum(each))
    gaps.append(each)
  end_ms, gap_ms = np.concatenate(ends), np.concatenate(gaps)
  if not len(gap_ms):
    return None
  usual_ms = np.median(gap_ms)
  is_long = gap_ms > _LONG_GAP * usual_ms
  if not is_long.any():
    return LongGaps(0, 0.0, 0.0, 0.0)
  end_ms, gap_ms = end_ms[is_long], gap_ms[is_long]
  marks = np.sort(first_ms)
  upto = np.searchsorted(marks, end_ms + _NEAR * gap_ms, side="right")
  since = np.searchsorted(marks, end_ms - gap_ms * (1 - _NEAR), side="right")
  span_ms = max(float(np.ptp(first_ms)), 1e-9)
  chance = 1 - np.exp(-gap_ms * len(marks) / span_ms)
  return LongGaps(
      count=int(is_long.sum()),
      with_first_token=float((upto > since).mean()),
      by_chance=float(chance.mean()),
      excess_ms=float((gap_ms - usual_ms).sum() / len(requests.gaps_ms)),
  )


@dataclasses.dataclass(frozen=True, slots=True)
class FirstGaps:
  """Each request's first gap beside its later ones."""

  first_ms: float
  """Median."""
  later: Tail

  @property
  def ratio(self) -> float:
    return self.first_ms / max(self.later.median_ms, 1e-9)


def first_gaps(requests: Requests) -> FirstGaps | None:
  """Of requests with both; None of too few, or without gaps."""
  if requests.gaps_ms is None:
    return None
  both = [each for each in requests.gaps_ms if len(each) > 1]
  if len(both) < needed(90):
    return None
  later_ms = np.concatenate([each[1:] for each in both])
  median, high = np.percentile(later_ms, (50, 99))
  first_ms = float(np.median([each[0] for each in both]))
  return FirstGaps(first_ms, Tail("itl", "p99", float(median), float(high)))
