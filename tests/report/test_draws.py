"""Verdicts over draws of the simulator's costs."""

import dataclasses

import pytest

from pdjax.report.drawn import shown_runs, shown_words
from pdjax.report.draws import draws_of, over_draws
from pdjax.report.study import studies_of
from pdjax.report.verdict import verdict_of
from pdjax.simulate.drawn import drawn
from pdjax.simulate.scalars import Scalars
from tests.report import test_verdict

A, B = "chunked", "disaggregated"
"""Labelled 2C and 1P1D."""
LONG = 0.95
"""Good requests of a run whose load does not bound it."""


def run(kind, draw, goodput, seed=0, share=LONG, rate=10, **said):
  plain = test_verdict.run(
      kind, rate, share, seed, goodput=goodput, offered_rate=rate, **said
  )
  profile = "analytical: +-20 %" + f"; draw {draw} of them" * bool(draw)
  assert plain.config is not None
  return dataclasses.replace(
      plain, label=f"{plain.label} draw={draw}",
      config={**plain.config, "backend": {"draw": draw}},
      conditions={
          **plain.conditions,
          "contract": {**plain.contract, "cost_profile": profile},
      },
  )


def rivals(wins, draws=20, seeds=(0,), **said):
  """2C is best in the first `wins` draws, 1P1D in the others."""
  for seed in seeds:
    for draw in range(1, draws + 1):
      yield run(A, draw, 2.0, seed, **said)
      yield run(B, draw, 1.0 if draw <= wins else 3.0, seed, **said)


@pytest.mark.parametrize(
    ("wins", "draws", "verdict"),
    [
        (19, 20, "2C in 19, 1P1D in 1 of 20: that 2C is first holds"),
        (17, 20, "2C in 17, 1P1D in 3 of 20: not decided at this fidelity"),
        (5, 5, "2C in 5 of 5: not decided: a verdict needs 20 draws"),
    ],
)
def test_a_verdict_holds_in_nineteen_of_twenty(wins, draws, verdict):
  assert verdict in over_draws([*rivals(wins, draws)])


def test_where_all_is_served_nothing_is_decided():
  """By however much the tails of the runs differ, and in whatever order."""
  text = over_draws([*rivals(20, share=1.0)])
  assert "bounded by the load in 20 of 20: nothing is decided" in text
  assert "raise the rate, or search for goodput" in text
  assert "holds" not in text
  grew = ["queue kept growing while requests arrived"]
  assert "holds" in over_draws([*rivals(20, share=1.0, flags=grew)])


def test_one_that_serves_all_is_not_beaten():
  """On twice the chips it serves half as much a chip, and might serve more."""
  runs = [run(A, d, 4.0, share=0.95) for d in range(1, 21)]
  runs += [run(B, d, 2.0, share=1.0) for d in range(1, 21)]
  assert "bounded by the load in 20" in over_draws(runs)


def test_ties_are_ties():
  """Of any size within the margin, and always on one side."""
  runs = [run(A, d, 2.0) for d in range(1, 21)]
  runs += [run(B, d, 2.0 + 0.0004 * d) for d in range(1, 21)]
  text = over_draws(runs)
  assert "equal to within 0.5% in 20 of 20" in text
  assert "no winner" in text and "holds" not in text


def test_designs_that_miss_the_slo_decide_nothing():
  text = over_draws([*rivals(20, share=0.3)])
  assert "no design keeps the SLO at this load" in text
  assert "holds" not in text


def test_one_that_misses_is_never_first():
  runs = [run(A, d, 2.0) for d in range(1, 21)]
  runs += [run(B, d, 3.0, share=0.5) for d in range(1, 21)]
  text = over_draws(runs)
  assert "that 2C is first holds" in text
  assert "in 20 another has more good requests per chip, but missed" in text


def test_seeds_and_draws_are_both_in_the_verdict():
  text = over_draws([*rivals(20, seeds=range(4))])
  assert text.startswith("Over 20 draws of the costs x 4 seeds")
  assert "2C in 80 of 80" in text and "seed=" not in text
  assert "4 of the 8" in text
  every = [*rivals(20)] + [
      run(kind, d, goodput, 1)
      for d in range(1, 21) for kind, goodput in ((A, 1.0), (B, 2.0))
  ]
  assert "2C in 20, 1P1D in 20 of 40: not decided" in over_draws(every)


def test_brackets_over_rates_are_judged_in_each_draw():
  def sweep(kind, shares, draw):
    return [
        run(kind, draw, None, share=share, rate=10.0 * n)
        for n, share in enumerate(shares, start=1)
    ]

  runs = [
      one for d in range(1, 21)
      for one in sweep(A, (1, 1, 1, 0.2), d) + sweep(B, (1, 0.5, 0.1, 0.1), d)
  ]
  assert "that 2C is first holds" in over_draws(runs)
  near = [
      one for d in range(1, 21)
      for one in sweep(A, (1, 1, 0.5), d) + sweep(B, (1, 1, 0.1), d)
  ]
  assert "too far apart" in over_draws(near)


def test_draws_are_one_study_and_its_headline():
  runs = [*rivals(20)]
  (study,) = studies_of(runs)
  assert {r.config["backend"]["draw"] for r in study.runs} == {1}
  assert [d.label for d in study.designs] == ["2C", "1P1D"]
  told = verdict_of(study)
  assert told.headline.startswith("Over 20 draws of the costs")
  assert told.over and told.over.contenders[0].goodput == (2.0, 2.0, 2.0)
  assert not told.decided  # of one seed
  assert "the draw shown alone" in told.ratio
  (study,) = studies_of([*rivals(20, seeds=range(8))])
  assert verdict_of(study).decided


def test_only_one_set_of_costs_is_said_to_be_one():
  def said(runs):
    (study,) = studies_of(runs)
    return any("one set of costs" in r for r in verdict_of(study).reservations)

  assert said([*rivals(20)][:2])
  assert not said([*rivals(20)])
  assert not said([run(A, draw, 2.0) for draw in range(1, 21)])


def test_a_draw_without_all_designs_is_left_out_and_said():
  runs = [*rivals(20)][:-1]
  text = over_draws(runs)
  assert "2C in 19 of 19" in text
  assert "1 of 20 left out: a design is missing there" in text
  (study,) = studies_of(runs)
  assert draws_of(study).draws == 19


def test_costs_as_stated_are_what_is_shown():
  runs = [run(A, 0, 1.0), run(B, 0, 1.0), *rivals(20)]
  assert [r.config["backend"]["draw"] for r in shown_runs(runs)] == [0, 0]
  assert "Shown: costs as stated" in shown_words(runs)
  assert len(shown_runs([*rivals(20)])) == 2
  assert "drawn 20 times" in shown_words([*rivals(20)])
  assert "Shown: draw 1;" in shown_words([*rivals(20)])
  assert over_draws(runs[:2]) == shown_words(runs[:2]) == ""


def test_measured_runs_beside_drawn_ones_hide_none():
  measured = run(A, 0, 1.0)
  measured = dataclasses.replace(
      measured, summary={**measured.summary, "kind": "measured"},
      conditions={**measured.conditions, "contract": {
          **measured.contract, "cost_profile": None,
      }},
  )
  shown = shown_runs([measured, *rivals(20)])
  assert [r.kind for r in shown] == ["measured", "simulated", "simulated"]


def test_a_draw_stays_within_the_uncertainty_and_is_repeatable():
  plain = Scalars()
  one, again, other = (drawn(plain, n, 0.2) for n in (1, 1, 2))
  assert one == again != other and drawn(plain, 0, 0.2) == plain
  for name in ("matmul_efficiency", "step_overhead_s"):
    ratio = getattr(one, name) / getattr(plain, name)
    assert 0.8 <= ratio <= 1.2 and ratio != 1.0
  assert drawn(plain, 1, 0.9).hbm_efficiency <= 1.0
