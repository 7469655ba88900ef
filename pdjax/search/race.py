"""A race of designs: which of them keeps the SLO at the highest rate per chip.

All begin at one rate. Those that pass go on to the next higher one and the
others are out; when none passes, the same ones are tried lower. So the runs go
to the designs that are still in question: the elimination of a racing
algorithm (Maron and Moore, NIPS 1993), on a ladder of rates. Passing is by the
estimate over the tuning seeds alone, so the winner's own figures flatter it;
results come from other seeds.
"""

import dataclasses
from collections.abc import Sequence

from pdjax.config import SLO
from pdjax.metrics.intervals import Interval
from pdjax.search.asking import Found, NoRun, Probe, Search
from pdjax.search.bracket import Bracket, Outcome, rounded
from pdjax.search.designs import Design
from pdjax.search.judging import at_sight


@dataclasses.dataclass(frozen=True, slots=True)
class Tried:
  """A design at a rate, over some seeds."""

  design: Design
  rate: float
  outcome: Outcome
  attainment: Interval | None
  seeds: tuple[int, ...]

  @property
  def per_chip(self) -> float:
    return self.rate / self.design.chips

  @property
  def share(self) -> float:
    """For ordering; without a request term all are equal."""
    found = self.attainment
    return 0.0 if found is None or found.estimate is None else found.estimate


@dataclasses.dataclass(frozen=True, slots=True)
class Tuned:
  """How a race came out."""

  best: Design
  bracket: Bracket
  """Of the rate per chip, on the tuning seeds."""
  runs: int
  out_of_budget: bool
  tried: tuple[Tried, ...]

  @property
  def standing(self) -> tuple[float, float]:
    """For choosing among rivals: rate per chip that passed, attainment."""
    passed = [
        (one.per_chip, one.share)
        for one in self.tried
        if one.design == self.best and one.outcome == "pass"
    ]
    return max(passed, default=(0.0, 0.0))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rules:
  """What a race is held under."""

  first_per_chip: float
  seeds: tuple[int, ...]
  budget: int
  """Runs at most."""
  tolerance: float
  doublings: int
  slo: SLO


def race(designs: Sequence[Design], rules: Rules) -> Search[Tuned]:
  """Finds the best of some designs."""
  bracket = Bracket(
      first=rules.first_per_chip, tolerance=rules.tolerance,
      doublings=rules.doublings,
  )
  live, best, runs, short = list(designs), designs[0], 0, False
  tried: list[Tried] = []
  while (per_chip := bracket.next()) is not None:
    wanted = {design.number: _probes(design, per_chip, rules)
              for design in live}
    count = sum(map(len, wanted.values()))
    if short := runs + count > rules.budget:
      break
    found = yield [probe for probes in wanted.values() for probe in probes]
    runs += count
    seen = [
        one for design in live
        if (one := _tried(design, wanted[design.number], found, rules))
    ]
    if not seen:
      _block(bracket, found, wanted[live[0].number][0])
      break
    tried += seen
    passed = [one for one in seen if one.outcome == "pass"]
    bracket.tried[per_chip] = "pass" if passed else "fail"
    if passed or bracket.low is None:
      best = max(passed or seen, key=lambda one: one.share).design
    live = [one.design for one in passed] or live
  return Tuned(best, bracket, runs, short, tuple(tried))


def _probes(design: Design, per_chip: float, rules: Rules) -> list[Probe]:
  rate = design.rate_at(per_chip)
  return [Probe(design.number, rate, seed) for seed in rules.seeds]


def _tried(
    design: Design, probes: Sequence[Probe], found: Found, rules: Rules
) -> Tried | None:
  """A design whose runs are not all there is out of the race at this rate."""
  rows = [found[probe] for probe in probes]
  if any(isinstance(row, NoRun) for row in rows):
    return None
  seen = at_sight([r for r in rows if not isinstance(r, NoRun)], rules.slo)
  seeds = tuple(probe.seed for probe in probes)
  return Tried(design, probes[0].rate, seen.outcome, seen.attainment, seeds)


def _block(bracket: Bracket, found: Found, probe: Probe) -> None:
  why = found[probe]
  if isinstance(why, NoRun):
    bracket.block(why.reason, failed=why.failed)
  else:
    bracket.block("its runs are not all there", failed=True)


def frontier(tried: Sequence[Tried]) -> list[Tried]:
  """Those that no other one beats in both rate per chip and attainment."""
  ordered = sorted(tried, key=lambda one: (-one.per_chip, -one.share))
  kept: list[Tried] = []
  for one in ordered:
    if not kept or one.share > kept[-1].share:
      kept.append(one)
  return kept[::-1]


def per_chip_of(rate: float, design: Design) -> float:
  """A rate of a design, divided by all its chips."""
  return rounded(rate / design.chips)
