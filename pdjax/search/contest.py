"""The search of one rival: its best design, and the bracket of that one's rate.

Tuned on some seeds, reported on others: the best of many designs is in part the
luckiest on the seeds it was chosen by.
"""

import dataclasses
from collections.abc import Callable

from pdjax.config import SLO
from pdjax.metrics.intervals import Interval
from pdjax.search.asking import NoRun, Probe, Row, Search, together
from pdjax.search.bracket import Bracket, Outcome
from pdjax.search.designs import Design, Rival
from pdjax.search.judging import Judged, at_sight, confidence_of, judged, looks
from pdjax.search.race import Rules, Tuned, race

Tell = Callable[[str], None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
  """How every rival is searched."""

  first_per_chip: float
  """Requests per second and chip to begin with."""
  seeds: tuple[int, ...]
  """For results."""
  tune_seeds: tuple[int, ...]
  tolerance: float
  doublings: int
  slo: SLO


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
  """A rate, and what the seeds up to a look say of it."""

  rate: float
  outcome: Outcome
  attainment: Interval | None
  probes: tuple[Probe, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Contest:
  """How the search of one rival came out."""

  rival: Rival
  tuned: Tuned | None
  """None where there was nothing to choose."""
  design: Design
  bracket: Bracket
  """Of its rate, in requests per second."""
  seen: tuple[Seen, ...]

  def at_low(self) -> Seen | None:
    """What was seen at the highest rate that passed."""
    low = self.bracket.low
    return next((one for one in self.seen if one.rate == low), None)


def contest(
    rival: Rival, plan: Plan, budget: int | None, tell: Tell
) -> Search[Contest]:
  """Tunes a rival, if there is a budget to, and brackets its best design."""
  tuned = None
  if budget is not None:
    tuned = yield from race(rival.designs, _rules(plan, budget))
    tell(f"{rival.name}: best of {len(rival.designs)} designs is"
         f" {tuned.best.label}, after {tuned.runs} run"
         + ("" if tuned.runs == 1 else "s"))
  design = tuned.best if tuned else rival.designs[0]
  bracket = _start(design, tuned, plan)
  seen = yield from _narrow(bracket, design, plan, tell)
  return Contest(rival, tuned, design, bracket, tuple(seen))


def _rules(plan: Plan, budget: int) -> Rules:
  return Rules(
      first_per_chip=plan.first_per_chip, seeds=plan.tune_seeds,
      budget=budget, tolerance=plan.tolerance, doublings=plan.doublings,
      slo=plan.slo,
  )


def _start(design: Design, tuned: Tuned | None, plan: Plan) -> Bracket:
  """From where tuning left off, in small steps; else from the first rate."""
  per_chip, step = plan.first_per_chip, 2.0
  if tuned and (known := tuned.bracket.low or tuned.bracket.high):
    per_chip, step = known, 1 + plan.tolerance
  return Bracket(
      first=design.rate_at(per_chip), step=step, tolerance=plan.tolerance,
      doublings=plan.doublings,
  )


def _narrow(
    bracket: Bracket, design: Design, plan: Plan, tell: Tell
) -> Search[list[Seen]]:
  seen: list[Seen] = []
  while (rate := bracket.next()) is not None:
    found = yield from _look(design, rate, plan)
    if isinstance(found, NoRun):
      bracket.block(found.reason, failed=found.failed)
      break
    bracket.tried[rate] = found.outcome
    seen.append(found)
    tell(f"{design.label}: {rate:g}/s {words(found)}")
    if _hopeless(bracket, found):
      bracket.block(
          f"all requests of {len(found.probes)} seeds keep the SLO at"
          f" {rate:g}/s but are too few to be sure, and lower rates have fewer;"
          " raise workload.duration_s", failed=False,
      )
  return seen


def _hopeless(bracket: Bracket, seen: Seen) -> bool:
  """Whether steps down would only leave fewer requests to judge by."""
  share = seen.attainment.estimate if seen.attainment else None
  return seen.outcome == "undecided" and share == 1.0 and bracket.descending


def _look(design: Design, rate: float, plan: Plan) -> Search[Seen | NoRun]:
  """Judges a rate, with more seeds while it is undecided."""
  counts = looks(len(plan.seeds))
  confidence = confidence_of(len(counts))
  probes: tuple[Probe, ...] = ()
  found = Judged("undecided", None)
  for count in counts:
    probes = tuple(
        Probe(design.number, rate, seed) for seed in plan.seeds[:count]
    )
    rows: list[Row] = []
    results = yield probes
    for probe in probes:
      row = results[probe]
      if isinstance(row, NoRun):
        return row
      rows.append(row)
    found = judged(rows, plan.slo, confidence)
    if found.outcome != "undecided":
      break
  return Seen(rate, found.outcome, found.attainment, probes)


def words(seen: Seen) -> str:
  """An outcome and what it rests on."""
  found, seeds = seen.attainment, len(seen.probes)
  if found is None or found.low is None or found.high is None:
    return f"{seen.outcome}, {seeds} seeds"
  return (
      f"{seen.outcome}, {100 * (found.estimate or 0):.1f} %"
      f" [{100 * found.low:.1f}, {100 * found.high:.1f}] of {seeds} seeds"
  )


def seed_rates(
    design: Design, first: float, plan: Plan
) -> Search[dict[int, float]]:
  """For each seed by itself the highest rate that keeps the SLO.

  The middle of a bracket as narrow as `plan.tolerance`; seeds without one are
  left out. What a seed makes easy for one design it makes easy for another, so
  these pair up.

  Args:
    first: requests per second to begin with.
  """
  ends = yield from together(
      [_of_seed(design, first, seed, plan) for seed in plan.seeds]
  )
  pairs = zip(plan.seeds, ends, strict=True)
  return {seed: rate for seed, rate in pairs if rate is not None}


def _of_seed(
    design: Design, first: float, seed: int, plan: Plan
) -> Search[float | None]:
  bracket = Bracket(
      first=first, step=1 + plan.tolerance, tolerance=plan.tolerance,
      doublings=plan.doublings,
  )
  while (rate := bracket.next()) is not None:
    probe = Probe(design.number, rate, seed)
    row = (yield [probe])[probe]
    if isinstance(row, NoRun):
      return None
    bracket.tried[rate] = at_sight([row], plan.slo).outcome
  if bracket.low is None or bracket.high is None:
    return None
  return (bracket.low * bracket.high) ** 0.5
