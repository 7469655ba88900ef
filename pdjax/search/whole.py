"""A whole search: every rival side by side, then the two that are compared."""

import dataclasses
from collections import Counter
from collections.abc import Sequence

from pdjax.search.asking import Search, together
from pdjax.search.contest import Contest, Plan, Tell, contest, seed_rates
from pdjax.search.designs import Rival
from pdjax.search.verdict import Verdict, finalists, verdict


@dataclasses.dataclass(frozen=True, slots=True)
class Ended:
  """All that a search found."""

  contests: tuple[Contest, ...]
  verdict: Verdict | None


def budgets(rivals: Sequence[Rival], budget: int) -> list[int | None]:
  """Runs that each rival may take for tuning; None where nothing is chosen.

  A family shares its budget equally: more rivals are no more tries.
  """
  families = Counter(rival.family for rival in rivals)
  designs = {
      family: sum(len(r.designs) for r in rivals if r.family == family)
      for family in families
  }
  return [
      budget // families[rival.family] if designs[rival.family] > 1 else None
      for rival in rivals
  ]


def whole(
    rivals: Sequence[Rival], plan: Plan, budget: int, tell: Tell
) -> Search[Ended]:
  """Searches every rival, and compares the best of the two families."""
  shares = budgets(rivals, budget)
  contests = yield from together([
      contest(rival, plan, share, tell)
      for rival, share in zip(rivals, shares, strict=True)
  ])
  pair = finalists(contests)
  if pair is None or any(one.bracket.stopped == "failed" for one in pair):
    return Ended(tuple(contests), None)
  tell(f"seed by seed: {pair[0].rival.name} and {pair[1].rival.name}")
  rates = yield from together([
      seed_rates(one.design, _around(one), plan) for one in pair
  ])
  return Ended(tuple(contests), verdict(pair, rates))


def _around(one: Contest) -> float:
  """A rate near the one that is looked for."""
  return one.bracket.low or one.bracket.high or one.bracket.first
