"""Best disaggregated against best colocated rival: a ratio, and its doubts."""

import dataclasses
from collections.abc import Mapping, Sequence

from pdjax.metrics import ratios
from pdjax.metrics.replications import WANTED
from pdjax.search.contest import Contest
from pdjax.search.designs import Family, edges

FAMILIES: tuple[Family, Family] = ("disaggregated", "colocated")


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
  """A ratio of two rivals' rates per chip."""

  disaggregated: str
  colocated: str
  ratio: ratios.Ratio
  rates_per_chip: Mapping[str, Mapping[int, float]]
  caveats: tuple[str, ...]

  @property
  def text(self) -> str:
    return (
        f"{self.disaggregated} against {self.colocated}, highest rate per chip:"
        f" {self.ratio}"
    )


def finalists(contests: Sequence[Contest]) -> tuple[Contest, Contest] | None:
  """The best rival of each family, by what tuning says; None if one has none.

  Never by the results themselves: they would be flattered by the choice.
  """
  chosen = []
  for family in FAMILIES:
    own = [one for one in contests if one.rival.family == family]
    if not own:
      return None
    chosen.append(max(own, key=_standing))
  return chosen[0], chosen[1]


def _standing(contest: Contest) -> tuple[float, float]:
  return contest.tuned.standing if contest.tuned else (0.0, 0.0)


def verdict(
    pair: tuple[Contest, Contest], rates: Sequence[Mapping[int, float]]
) -> Verdict:
  """The ratio of a disaggregated and a colocated rival.

  Args:
    rates: of each of the two, the highest rate by seed, of the whole cluster.
  """
  per_chip = [
      {seed: rate / one.design.chips for seed, rate in each.items()}
      for one, each in zip(pair, rates, strict=True)
  ]
  names = [one.rival.name for one in pair]
  ratio = ratios.paired(per_chip[0], per_chip[1])
  return Verdict(
      names[0], names[1], ratio, dict(zip(names, per_chip, strict=True)),
      tuple(_caveats(pair, ratio)),
  )


def _caveats(
    pair: tuple[Contest, Contest], ratio: ratios.Ratio
) -> list[str]:
  lines = []
  for one in pair:
    if one.bracket.stopped not in ("bracketed", "undecided"):
      lines.append(f"{one.rival.name}: {one.bracket.stopped}")
    lines += [f"not bracketed: {one.rival.name}'s {line}" for line in ends(one)]
    if one.tuned and one.tuned.out_of_budget:
      lines.append(f"{one.rival.name}: tuning stopped at its budget")
  first, second = (one.design.chips for one in pair)
  if first != second:
    lines.append(f"{first} chips against {second}: compared per chip")
  if len(ratio.seeds) < WANTED:
    lines.append(f"{len(ratio.seeds)} seeds, {WANTED} are wanted for a claim")
  return lines


def ends(contest: Contest) -> list[str]:
  """Where the best design ends an axis of what was tried."""
  return edges(contest.design, contest.rival.designs) if contest.tuned else []
