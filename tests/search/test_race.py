"""Designs race: the best one wins, within its budget."""

from pdjax.metrics.intervals import too_few
from pdjax.search.race import Rules, Tried, frontier, race
from tests.search.scripted import SLO_, design, no_run, row, serve, until

DESIGNS = [design(n, chips=1 + n % 2, chunk=2**n) for n in range(4)]
LIMITS = [3.0, 2 * 5.0, 4.2, 2 * 4.9]
"""Of the whole design: the second is best per chip."""


def raced(run, **said):
  rules = Rules(**{
      "first_per_chip": 1.0, "seeds": (100, 101), "budget": 1000,
      "tolerance": 0.05, "doublings": 10, "slo": SLO_,
  } | said)
  return serve(race(DESIGNS, rules), run)


def test_the_highest_rate_per_chip_wins():
  tuned, probes = raced(until(LIMITS), tolerance=0.01)
  assert tuned.best == DESIGNS[1]
  assert tuned.bracket.low <= 5.0 < tuned.bracket.high
  assert tuned.runs == len(probes)
  assert {probe.seed for probe in probes} == {100, 101}


def test_losers_are_not_tried_again():
  tuned, _ = raced(until(LIMITS))
  rates = [one.per_chip for one in tuned.tried if one.design == DESIGNS[0]]
  assert max(rates) == 4  # failed there, where another one passed


def test_of_equals_the_higher_attainment():
  def run(probe):
    bad = 500 if probe.rate / (1 + probe.design % 2) > 4 else 0
    return row(950 + probe.design - bad, 1000)

  assert raced(run)[0].best == DESIGNS[3]


def test_never_more_runs_than_the_budget():
  tuned, probes = raced(until(LIMITS), budget=20)
  assert len(probes) == tuned.runs <= 20 and tuned.out_of_budget


def test_where_nothing_passes_the_nearest_is_best():
  def run(probe):
    return row(100 + probe.design, 1000)

  tuned, _ = raced(run, doublings=2)
  assert tuned.best == DESIGNS[3] and tuned.bracket.low is None
  assert tuned.standing == (0.0, 0.0)


def test_a_design_without_runs_is_out():
  def run(probe):
    if probe.design == 1:
      return no_run(failed=True)
    return until(LIMITS)(probe)

  assert raced(run)[0].best == DESIGNS[3]
  none, _ = raced(lambda probe: no_run("too short"))
  assert none.bracket.obstacle == "too short" and none.tried == ()


def test_frontier_holds_what_nothing_beats():
  def tried(number, rate, share):
    return Tried(design(number), rate, "pass", too_few(share, 1, ""), (1,))

  points = [
      tried(0, 1.0, 0.9), tried(1, 1.0, 0.99), tried(0, 2.0, 0.95),
      tried(1, 2.0, 0.9), tried(0, 4.0, 0.5),
  ]
  kept = [(one.rate, one.share) for one in frontier(points)]
  assert kept == [(1.0, 0.99), (2.0, 0.95), (4.0, 0.5)]
