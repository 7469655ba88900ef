"""Which terms of its SLO a run misses, by its summary."""

from collections.abc import Iterator, Mapping
from typing import Any

from pdjax.digits import plain

_GOAL = 0.9
"""Attainment wanted where a summary does not say."""


def on_side(summary: Mapping[str, Any], first: bool) -> bool:
  """Whether more requests miss a limit on this side than the SLO allows, or a
  limit on a statistic of the run is missed there."""
  names = ("ttft",) if first else ("tpot", "itl", "ttst")
  return any(
      metric in term.split()
      for term in _missed(summary) for metric in names
  )


def _missed(summary: Mapping[str, Any]) -> Iterator[str]:
  """Terms such as `ttft <= 1 s` and `p99 itl <= 0.1 s`."""
  goal = summary.get("slo.attainment") or _GOAL
  for name, value in summary.items():
    kind, _, rest = name.partition("[")
    short = kind == "slo_share" and value is not None and value < goal
    if short or (kind == "slo_holds" and value is False):
      yield rest.removesuffix("]")


def words(summary: Mapping[str, Any]) -> str:
  """Of a missed SLO: each term that is missed, and by how much."""
  goal = summary.get("slo.attainment") or _GOAL
  terms = list(_terms(summary, goal))
  kept = summary.get("slo_attainment")
  if not terms and kept is not None and kept < goal:
    terms = [f"{kept:.1%} of the requests keep all of it"]
  return (
      f"the SLO is missed, {plain(goal, 4)} of the requests are to keep it:"
      f" {'; '.join(terms) or 'no term says by which'}"
  )


def _terms(summary: Mapping[str, Any], goal: float) -> Iterator[str]:
  for name, value in summary.items():
    kind, _, rest = name.partition("[")
    term = rest.removesuffix("]")
    if kind == "slo_share" and value is not None and value < goal:
      yield f"{term} is kept by {value:.1%}"
    elif kind == "slo_holds" and value is False:
      found = summary.get(f"slo_value_s[{term}]")
      yield term if found is None else f"{term}, but it is {plain(found)} s"
