"""When a higher goodput is a win: neither a tie, nor bounded by the load.

One language for the verdict on a study and for that over draws of its costs.
"""

from collections.abc import Sequence

from pdjax.metrics import ratios
from pdjax.report.bounded import EQUAL, RAISE, serve_all
from pdjax.report.capacity import (
  GOODPUT,
  Goodput,
  best_of_strategies,
  goodput_of,
  ranked,
)
from pdjax.report.study import Study


def contenders(study: Study) -> list[Goodput]:
  """Each strategy's best design, the best first; of one strategy all."""
  if len({design.strategy for design in study.designs}) > 1:
    return best_of_strategies(study)
  return ranked(goodput_of(study, design) for design in study.designs)


def equals(study: Study, best: Sequence[Goodput]) -> list[Goodput]:
  """Others that the runs do not tell from the first."""
  first = best[0]
  return [
      one for one in best[1:] if one.kept == first.kept
      and (close(first, one) or _spans_one(study, first, one))
  ]


def close(first: Goodput, other: Goodput) -> bool:
  return other.value > 0 and abs(first.value / other.value - 1) <= EQUAL


def unbeaten(study: Study, best: Sequence[Goodput]) -> list[Goodput]:
  """Others that serve all that is offered: they might serve more than the
  first, were more offered."""
  if not best[0].kept:
    return []
  return [one for one in best[1:] if serves_all(study, one)]


def serves_all(study: Study, found: Goodput) -> bool:
  """Whether the load bounds a goodput: see `bounded`; of several rates, the SLO
  was kept at the highest tried."""
  if study.under_load:
    return found.kept and not found.bounded
  return found.kept and serve_all(found.at.runs)


def bounded_words(study: Study, best: Sequence[Goodput]) -> str:
  """That the load bounds the goodput of the first and of others."""
  others = unbeaten(study, best)
  names = [one.design.label for one in (best[0], *others)]
  if not serves_all(study, best[0]):
    names = names[1:]
  who = "all" if len(names) == len(best) > 1 else " and ".join(names)
  verb = "serves" if len(names) == 1 else "serve"
  return (
      f"{who} {verb} all that is offered within the SLO, so goodput is bounded"
      f" by the load: {RAISE}"
  )


def passed(study: Study, best: Sequence[Goodput]) -> list[Goodput]:
  """Designs with more good requests per chip than the best one, which kept the
  SLO while they missed it."""
  every = [goodput_of(study, design) for design in study.designs]
  return [
      one for one in every
      if best[0].kept and one and not one.kept and one.value > best[0].value
  ]


def _spans_one(study: Study, first: Goodput, other: Goodput) -> bool:
  """Whether the ratio's interval holds 1. Not of rates at its very edge: there
  one kept the SLO where the other missed it."""
  if study.under_load:
    return first.low < other.high
  found = ratios.paired(first.at.by_seed(GOODPUT), other.at.by_seed(GOODPUT))
  return found.interval.low is not None and not found.significant
