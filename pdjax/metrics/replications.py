"""Intervals from replications: runs alike but for their seeds.

Each replication is one draw of everything a queue makes of its requests, so
nothing has to be assumed about what goes on inside. `WANTED` of them are
wanted; fewer give an interval too, a wide one.
"""

from collections.abc import Sequence

import numpy as np

from pdjax.metrics.intervals import CONFIDENCE, Interval, student, too_few

WANTED = 8
"""Replications for a claim: Student's factor is 2.4 with 8, 4.3 with 3."""

_METHOD = "replications"


def of_means(
    values: Sequence[float], confidence: float = CONFIDENCE
) -> Interval:
  """The mean of one figure a replication, such as a p99 or a throughput."""
  sample = np.asarray(values, np.float64)
  count = len(sample)
  if count < 2:
    mean = float(sample[0]) if count else None
    return too_few(mean, count, _METHOD, confidence)
  error = float(sample.std(ddof=1)) / count**0.5
  return student(
      float(sample.mean()), error, count, _METHOD, confidence=confidence
  )


def of_shares(
    good: Sequence[int], sent: Sequence[int], confidence: float = CONFIDENCE
) -> Interval:
  """The share of good requests, given both counts of each replication.

  Replications count by their requests (a ratio estimator). The interval is
  never narrower than independent requests would give: with no miss at all it
  reaches down to about 1 - 14 / requests for 8 replications.
  """
  of, parts = np.asarray(sent, np.float64), np.asarray(good, np.float64)
  total, count = float(of.sum()), len(of)
  share = float(parts.sum() / total) if total else None
  if share is None or count < 2:
    return too_few(share, count, _METHOD, confidence)
  apart = (parts - share * of) / of.mean()
  error = float(apart.std(ddof=1)) / count**0.5
  return share_interval(share, error, total, count, _METHOD, confidence)


def share_interval(
    share: float,
    error: float,
    requests: float,
    samples: int,
    method: str,
    confidence: float = CONFIDENCE,
) -> Interval:
  """Student's on the logit scale, no narrower than for independent requests."""
  least = 0.5 / (requests + 1)
  inside = min(max(share, least), 1 - least)
  alone = inside * (1 - inside) / requests
  variance = max(error**2, alone)
  found = student(
      inside, variance**0.5, samples, method, scale="logit",
      confidence=confidence, effective=requests * alone / variance,
  )
  assert found.low is not None and found.high is not None
  return Interval(
      estimate=share, low=min(found.low, share), high=max(found.high, share),
      confidence=confidence, method=method, samples=samples,
      effective=found.effective,
  )
