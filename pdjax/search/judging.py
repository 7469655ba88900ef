"""Whether a rate keeps an SLO: intervals over runs that differ in their seed.

A request term is judged by the share of requests that keep it, a run term by
the mean of its statistic over the runs. A rate passes when every interval lies
on the good side of its limit and fails when one lies on the bad side; else it
is undecided, and more seeds may tell.

Looking again after more seeds is another chance to err, so each look gets its
share of the error that is allowed (Bonferroni).
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Literal

from pdjax.config import SLO
from pdjax.metrics import replications
from pdjax.metrics.intervals import CONFIDENCE, Interval, too_few
from pdjax.metrics.slo import Term, terms_of
from pdjax.search.asking import Row
from pdjax.search.bracket import Outcome

FIRST_LOOK = 4
"""Seeds; with 3 Student's factor is so large that hardly anything passes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Judged:
  """What some runs at one rate say."""

  outcome: Outcome
  attainment: Interval | None
  """Of the worst request term where each is by itself; None without any."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Criterion:
  """A figure, its limit, and the side of it that is good."""

  figure: Interval
  limit: float
  good: Literal["above", "below"]

  def surely(self) -> Outcome:
    side = self.figure.side(self.limit)
    if side == "undecided":
      return side
    return "pass" if side == self.good else "fail"

  def at_sight(self) -> Outcome:
    found = self.figure.estimate
    if found is None:
      return "undecided"
    apart = found - self.limit if self.good == "above" else self.limit - found
    return "pass" if apart >= 0 else "fail"


def looks(seeds: int) -> list[int]:
  """After how many seeds one looks: doubled, up to all of them.

  >>> looks(8), looks(12), looks(3)
  ([4, 8], [4, 8, 12], [3])
  """
  counts = [min(FIRST_LOOK, seeds)]
  while counts[-1] < seeds:
    counts.append(min(2 * counts[-1], seeds))
  return counts


def confidence_of(looks: int) -> float:
  """Of one look, so that all together keep `CONFIDENCE`."""
  return 1 - (1 - CONFIDENCE) / looks


def judged(rows: Sequence[Row], slo: SLO, confidence: float) -> Judged:
  """The verdict of runs alike but for their seeds."""
  criteria = list(_criteria(rows, slo, confidence))
  return Judged(_joined([one.surely() for one in criteria]), _worst(criteria))


def at_sight(rows: Sequence[Row], slo: SLO) -> Judged:
  """The same by estimates alone: for choosing, and for one run."""
  criteria = list(_criteria(rows, slo, CONFIDENCE))
  return Judged(_joined([one.at_sight() for one in criteria]), _worst(criteria))


def _joined(outcomes: Sequence[Outcome]) -> Outcome:
  if "fail" in outcomes:
    return "fail"
  return "undecided" if "undecided" in outcomes or not outcomes else "pass"


def _worst(criteria: Sequence[_Criterion]) -> Interval | None:
  shares = [one.figure for one in criteria if one.good == "above"]
  return min(shares, key=lambda share: share.estimate or 0.0, default=None)


def _criteria(
    rows: Sequence[Row], slo: SLO, confidence: float
) -> Iterator[_Criterion]:
  terms = terms_of(slo)
  for key in _share_keys(slo, terms):
    share = _share(rows, key, confidence)
    yield _Criterion(share, slo.attainment, "above")
  for term in terms:
    if term.scope == "run":
      figure = _statistic(rows, term, confidence)
      yield _Criterion(figure, term.limit_s, "below")


def _share_keys(slo: SLO, terms: Sequence[Term]) -> list[str]:
  """Columns of a summary with the shares that are judged."""
  own = [f"slo_share[{term}]" for term in terms if term.scope == "request"]
  return own if slo.join == "each" else ["slo_attainment"][: len(own)]


def _share(rows: Sequence[Row], key: str, confidence: float) -> Interval:
  sent = [row["sent"] - row.get("aborted", 0) for row in rows]
  good = [
      round((row[key] or 0.0) * count)
      for row, count in zip(rows, sent, strict=True)
  ]
  return replications.of_shares(good, sent, confidence)


def _statistic(rows: Sequence[Row], term: Term, confidence: float) -> Interval:
  """Of a run term; beyond every limit where a run without a value fails it."""
  values = [row[f"slo_value_s[{term}]"] for row in rows]
  known = [value for value in values if value is not None]
  if len(known) == len(values):
    return replications.of_means(known, confidence)
  if any(row[f"slo_holds[{term}]"] is False for row in rows):
    return Interval(
        estimate=math.inf, low=math.inf, high=math.inf, samples=len(rows),
        method="a run in which none finished", confidence=confidence,
    )
  return too_few(None, len(rows), "too few values in a run", confidence)
