"""Searches on queues whose highest rate is known in closed form."""

import pytest

from pdjax.metrics.ratios import paired
from pdjax.search.asking import together
from pdjax.search.contest import contest, seed_rates
from pdjax.search.verdict import verdict
from tests.search.scripted import (
  design,
  highest_rate,
  mm1,
  no_run,
  plan,
  rival,
  row,
  serve,
  until,
)

TRIALS = 24
LIMITS_S = {0.5: 4.6, 0.8: 11.5, 0.9: 23.0}
"""By the utilisation that just keeps them."""
REQUESTS = {0.5: 1000, 0.8: 2000, 0.9: 5000}


def ended(run, *designs, budget=None, **said):
  one = rival("a", *(designs or (design(),)))
  search = contest(one, plan(**said), budget, lambda text: None)
  return serve(search, run)


@pytest.mark.parametrize("utilisation", LIMITS_S)
def test_brackets_hold_the_truth(utilisation):
  """Both ends err at most one time in 20 together."""
  limit_s, held = LIMITS_S[utilisation], 0
  truth = highest_rate(limit_s)
  assert truth == pytest.approx(utilisation, abs=0.01)
  for trial in range(TRIALS):
    run = mm1(limit_s, REQUESTS[utilisation], warmup=500, shift=trial)
    found, _ = ended(run, first_per_chip=truth / 2, tolerance=0.1)
    low, high = found.bracket.low, found.bracket.high
    held += low is not None and high is not None and low <= truth <= high
  assert held / TRIALS > 0.95 - 3 * (0.95 * 0.05 / TRIALS) ** 0.5


def test_undecided_rates_get_more_seeds():
  found, _ = ended(mm1(11.5), first_per_chip=0.4, tolerance=0.1)
  looked = {(one.outcome, len(one.probes)) for one in found.seen}
  assert {("undecided", 8), ("pass", 4)} <= looked
  assert ("undecided", 4) not in looked
  assert found.bracket.stopped in ("bracketed", "undecided")


def test_results_come_from_other_seeds_than_tuning():
  designs = [design(0, chunk=1), design(1, chunk=2)]
  found, probes = ended(until([3.0, 5.0]), *designs, budget=100)
  assert found.design == designs[1] and found.bracket.low <= 5
  chosen = {probe.seed for seen in found.seen for probe in seen.probes}
  assert chosen <= set(range(8))
  assert {p.seed for p in probes if p.design == 0} == {100, 101}


def test_after_tuning_the_steps_are_small():
  found, _ = ended(until([5.0]), budget=100)
  rates = [one.rate for one in found.seen]
  assert len(rates) <= 4 and max(rates) < 6


def test_a_probe_that_cannot_be_ends_the_search():
  def run(probe):
    return no_run("too short") if probe.rate > 3 else row(1000, 1000)

  found, _ = ended(run)
  assert found.bracket.low == 2
  assert found.bracket.stopped == "not bracketed above"
  assert found.bracket.obstacle == "too short"


def test_too_few_requests_do_not_become_enough_further_down():
  def run(probe):
    sent = round(8 * probe.rate)
    return row(sent if probe.rate < 1.5 else 0, sent)

  found, _ = ended(run, first_per_chip=2.0)
  assert [one.rate for one in found.seen] == [2, 1]
  assert found.bracket.stopped == "not bracketed below"
  assert "raise workload.duration_s" in found.bracket.obstacle


def test_each_seed_has_a_rate_of_its_own():
  def run(probe):
    return row(1000 if probe.rate <= 2 + probe.seed else 500, 1000)

  rates, _ = serve(seed_rates(design(), 2.0, plan(seeds=(0, 1, 2))), run)
  assert rates == pytest.approx({0: 2, 1: 3, 2: 4}, rel=0.03)
  none, _ = serve(
      seed_rates(design(), 2.0, plan()), lambda probe: row(1000, 1000)
  )
  assert none == {}


def compared(run, **said):
  designs = [design(0), design(1)]
  p = plan(**said)
  contests, _ = serve(
      together([
          contest(rival(str(n), d), p, None, lambda text: None)
          for n, d in enumerate(designs)
      ]),
      run,
  )
  first = contests[0].bracket.low or contests[0].bracket.first
  rates, _ = serve(
      together([seed_rates(d, first, p) for d in designs]), run
  )
  return verdict(tuple(contests), rates)


def test_alike_strategies_are_not_significant_at_the_nominal_rate():
  """The same arrivals and services drawn alike: one time in 20 they differ."""
  trials, significant = 40, 0
  for trial in range(trials):
    run = mm1(11.5, 1000, shift=trial)
    pair = [
        serve(seed_rates(design(n), 0.8, plan()), run)[0]
        for n in range(2)
    ]
    significant += paired(*pair).significant
  assert significant / trials < 0.05 + 3 * (0.05 * 0.95 / trials) ** 0.5


def test_what_differs_is_significant():
  found = compared(until([3.0, 2.0]))
  assert found.ratio.significant
  assert found.ratio.interval.estimate == pytest.approx(1.5, rel=0.05)
  same = compared(until([2.0, 2.0]))
  assert same.ratio.interval.estimate == 1 and not same.ratio.significant
  assert "not significant" in same.text
