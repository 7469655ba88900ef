"""Verdicts say what the runs decide, and no more."""

import dataclasses
from pathlib import Path

import pytest

from pdjax import config
from pdjax.report.record import Record
from pdjax.report.study import studies_of
from pdjax.report.verdict import verdict_of

LEVEL = 0.9


def run(strategy, rate, share, seed=0, profile=None, goodput=None, **said):
  """A run of two chips with this share of good requests."""
  split = "1P1D" if strategy == "disaggregated" else "2C"
  summary = {
      "kind": "simulated", "chips": 2, "slo_attainment": share,
      "slo_met": share >= LEVEL, "doubtful": False,
      "request_goodput_per_chip": goodput or share * rate / 2,
  }
  for anchor in ("prefill_sampled", "kv_landed", "first_decode"):
    summary |= {
        f"slo_met_{anchor}": share >= LEVEL, f"slo_attainment_{anchor}": share,
    }
  slo = {
      "terms": [["ttft", "value", "request", 1.0]], "join": "all",
      "attainment": LEVEL,
  }
  return Record(
      label=f"{split} rate={rate} seed={seed}",
      folder=Path(f"{strategy}{rate}"),
      asked=config.Run(strategy=config.Strategy(kind=strategy)),
      summary=summary | said,
      conditions={
          "contract": {"slo": slo, "rate_per_s": rate, "cost_profile": profile},
          "design": {"split": split}, "notes": [],
      },
      config={"workload": {"rate": rate, "seed": seed},
              "strategy": {"kind": strategy}},
  )


def verdict(*runs):
  (study,) = studies_of(runs)
  return verdict_of(study)


def sweep(kind, shares, **said):
  return [
      run(kind, 10.0 * (n + 1), share, **said)
      for n, share in enumerate(shares)
  ]


def test_rates_bracket_the_goodput_and_the_ratio():
  told = verdict(
      *sweep("chunked", (1, 0.8, 0.5, 0.1)),
      *sweep("disaggregated", (1, 1, 0.95, 0.3)),
  )
  assert told.decided and told.headline.startswith("1P1D has the highest")
  assert [(g.value, g.low, g.high) for g in told.found] == [
      (15, 15, 20), (5, 5, 10),
  ]
  assert told.ratio.startswith("3.00x [1.50, 4.00]")


@pytest.mark.parametrize("shares, rival, said", [
    ((1, 1, 0.5), (1, 0.5, 0.1), "too far apart"),
    ((1, 1, 1), (1, 0.5, 0.1), "not bracketed"),
    ((1, 1, 0.5), (0.5, 0.1, 0.1), "had no good request"),
])
def test_what_rates_leave_open_is_said(shares, rival, said):
  told = verdict(*sweep("disaggregated", shares), *sweep("chunked", rival))
  assert not told.decided and said in told.headline


def test_one_seed_is_no_evidence_and_nine_are():
  alone = verdict(run("chunked", 10, 0.92), run("disaggregated", 10, 0.97))
  assert not alone.decided and "one seed" in alone.headline
  runs = [
      run(kind, 10, share + 0.002 * (seed % 3), seed)
      for seed in range(9)
      for kind, share in (("chunked", 0.6), ("disaggregated", 0.95))
  ]
  assert verdict(*runs).decided


def test_a_difference_within_the_costs_uncertainty_decides_nothing():
  runs = [
      run(kind, 10, share + 0.001 * (seed % 3), seed, "analytical: +-20 %")
      for seed in range(9)
      for kind, share in (("chunked", 0.91), ("disaggregated", 0.98))
  ]
  told = verdict(*runs)
  assert not told.decided and "at this fidelity" in told.headline
  plain = [dataclasses.replace(r, conditions={
      **r.conditions, "contract": {**r.contract, "cost_profile": None},
  }) for r in runs]
  assert verdict(*plain).decided


def test_flagged_runs_and_missed_slos_are_said():
  flagged = verdict(
      *sweep("disaggregated", (1, 1, 1, 0.1), doubtful=True),
      *sweep("chunked", (1, 0.5, 0.4, 0.1)),
  )
  assert not flagged.decided
  assert any("rests on flagged runs of 1P1D" in r for r in flagged.reservations)
  missed = verdict(run("chunked", 10, 0.2), run("disaggregated", 10, 0.3))
  assert missed.headline.startswith("No strategy kept the SLO")


def test_where_both_serve_all_the_load_bounds_both():
  """Tails of 4 % differ in every seed, and mean nothing."""
  def both(share=1.0, **said):
    return verdict(*(
        run(kind, 10, share, seed, goodput=goodput, offered_rate=10, **said)
        for seed in range(9)
        for kind, goodput in (("chunked", 5.2), ("disaggregated", 5.0))
    ))

  told = both()
  assert not told.decided and told.headline == (
      "Nothing is decided: all serve all that is offered within the SLO, so"
      " goodput is bounded by the load: raise the rate, or search for goodput."
  )
  assert both(share=0.97).decided
  assert both(flags=["queue kept growing while requests arrived"]).decided
  near = verdict(*(
      run(kind, 10, 1.0, goodput=5.0, offered_rate=10)
      for kind in ("chunked", "disaggregated")
  ))
  assert "equal in goodput per chip, to within 0.5% (all serve" in near.headline


def test_designs_of_one_strategy_are_told_by_the_same_rule():
  def told(*shares):
    runs = [
        dataclasses.replace(each, label=f"d{n}", config={
            **each.config, "cluster": {"split": n},
        })
        for n, share in enumerate(shares)
        for each in [run("chunked", 10, share, goodput=5.0 + n / 10,
                         offered_rate=10)]
    ]
    return verdict(*runs).headline

  assert told(1.0, 1.0, 0.5).startswith(
      "Nothing is decided among 3 designs: d1 and d0 serve all"
  )
  assert told(0.97, 0.97) == (
      "d1, best of 2 designs: no other strategy was judged."
  )


def test_of_one_set_of_costs_the_verdict_says_so():
  def told(profile, kind="simulated"):
    return " ".join(verdict(*(
        run(each, 10, 0.95, profile=profile, kind=kind)
        for each in ("chunked", "disaggregated")
    )).reservations)

  assert "one set of costs: 20 draws" in told("analytical: +-20 %")
  assert "backend.draw=range(1,21)" in told("calibrated: 3.0 % off")
  published = told("published profile: x.json")
  assert "only measuring tells" in published and "draw" not in published
  assert "one set of costs" not in told(None, "measured")


def test_a_tie_is_no_win():
  alone = verdict(run("chunked", 10, 0.95), run("disaggregated", 10, 0.949))
  assert not alone.decided
  assert alone.headline.startswith("2C and 1P1D are equal in goodput per chip")
  assert "to within 0.5%" in alone.headline and "one seed" in alone.headline
  noisy = verdict(*(
      run(kind, 10, 0.95, seed, goodput=4 + sign * (0.1 + 0.2 * (seed % 3 - 1)))
      for seed in range(9)
      for kind, sign in (("chunked", 0.5), ("disaggregated", -0.3))
  ))
  assert "are equal in goodput per chip, as far as the runs" in noisy.headline
  rates = verdict(
      *sweep("disaggregated", (1, 1, 0.5)), *sweep("chunked", (1, 1, 0.1))
  )
  assert "are equal" in rates.headline and not rates.decided


def test_a_design_that_keeps_the_slo_comes_before_one_that_serves_more():
  def seeds(kind, share, goodput):
    return [
        run(kind, 10, share, seed, goodput=goodput + 0.001 * (seed % 3))
        for seed in range(9)
    ]

  told = verdict(
      *seeds("chunked", 0.8, 4.4), *seeds("disaggregated", 0.95, 4.0)
  )
  assert not told.decided
  assert told.headline.startswith(
      "1P1D has the highest goodput per chip of the designs that kept the SLO"
  )
  assert "2C has more good requests per chip (4.4/s), but missed the SLO" in (
      told.reservations
  )
  assert "chunked: no design kept the SLO" in told.reservations
  none = verdict(*seeds("chunked", 0.8, 4.4), *seeds("disaggregated", 0.7, 4))
  assert none.headline == (
      "No strategy kept the SLO at this load; 2C has the most good requests"
      " per chip."
  )


def test_another_anchor_may_flip_it():
  runs = sweep("disaggregated", (1, 1, 1, 0.1)) + sweep(
      "chunked", (1, 1, 0.5, 0.1)
  )
  late = [
      dataclasses.replace(r, summary={
          **r.summary, "slo_met_first_decode": False,
      }) if r.asked.strategy.kind == "disaggregated" else r
      for r in runs
  ]
  assert not any("flips" in r for r in verdict(*runs).reservations)
  flipped = verdict(*late).reservations
  assert any("at first_decode, 2C is the best" in r for r in flipped)


def test_measured_and_simulated_runs_never_share_a_study():
  runs = [run("chunked", 10, 1), run("disaggregated", 10, 1)]
  runs[1] = dataclasses.replace(
      runs[1], summary={**runs[1].summary, "kind": "measured"}
  )
  assert [study.kind for study in studies_of(runs)] == [
      "measured", "simulated",
  ]
