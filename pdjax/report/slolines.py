"""The SLO of a contract, as lines in figures and in words."""

from collections.abc import Iterator, Mapping
from typing import Any

from pdjax import config
from pdjax.metrics.slo import Term, terms_of
from pdjax.report.chart import Limit


def slo_of(told: Mapping[str, Any]) -> config.SLO:
  """What `conditions.slo_words` wrote."""
  return config.SLO(
      terms=tuple(tuple(term) for term in told["terms"]), join=told["join"],
      attainment=told["attainment"],
  )


def limits(
    told: Mapping[str, Any], metric: str, along: str, percent: int | None = None
) -> Iterator[Limit]:
  """The lines for a metric, in milliseconds.

  Args:
    along: the axis that the metric is on.
    percent: of the percentile shown; terms on other statistics are left out,
      and a term on each request where its percentile is not the one shown is
      drawn all the same: it must hold for `slo.attainment` of them.
  """
  for term in terms_of(slo_of(told)):
    if term.metric == metric and _belongs(term, percent):
      yield Limit(
          along="x" if along == "x" else "y", at=term.limit_s * 1e3,
          label=f"SLO {words(term)}",
      )


def _belongs(term: Term, percent: int | None) -> bool:
  own = term.scope == "request" or percent is None
  return own or term.statistic == f"p{percent}"


def words(term: Term) -> str:
  """Short, such as `TTFT ≤ 0.5 s` or `p99 ITL ≤ 0.1 s`."""
  statistic = "" if term.scope == "request" else f"{term.statistic} "
  return f"{statistic}{term.metric.upper()} ≤ {term.limit_s:g} s"


def sentence(told: Mapping[str, Any]) -> str:
  """The whole SLO."""
  terms = terms_of(slo_of(told))
  if not terms:
    return "no SLO"
  joined = " and ".join(map(words, terms))
  return f"{joined} for {told['attainment']:.0%} of requests"
