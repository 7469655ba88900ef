"""Verdicts over draws of the simulator's costs."""

import pytest

from pdjax.report.draws import over_draws, shown_runs
from pdjax.report.groups import ReportedRun
from pdjax.simulate.drawn import drawn
from pdjax.simulate.scalars import Scalars


def run(kind, draw, goodput, seed=0):
  return ReportedRun(
      label=f"{kind} draw={draw}",
      summary={"request_goodput_per_chip": goodput},
      conditions={},
      config={
          "backend": {"draw": draw}, "strategy": {"kind": kind},
          "workload": {"seed": seed},
      },
  )


def rivals(wins, draws=20):
  """`a` is best in the first `wins` draws, `b` in the others."""
  for draw in range(1, draws + 1):
    yield run("a", draw, 2.0)
    yield run("b", draw, 1.0 if draw <= wins else 3.0)


@pytest.mark.parametrize(
    ("wins", "draws", "verdict"),
    [
        (19, 20, "a in 19, b in 1 of 20: the ordering holds"),
        (17, 20, "a in 17, b in 3 of 20: not decided at this fidelity"),
        (5, 5, "a in 5 of 5: not decided: a verdict needs 20 draws"),
    ],
)
def test_a_verdict_holds_in_nineteen_of_twenty(wins, draws, verdict):
  assert verdict in over_draws([*rivals(wins, draws)])


def test_seeds_of_one_draw_are_taken_together():
  runs = [run("a", d, g, seed) for d in range(1, 21)
          for seed, g in enumerate((1.0, 5.0))]
  runs += [run("b", d, 2.0, seed) for d in range(1, 21) for seed in (0, 1)]
  assert "a in 20 of 20" in over_draws(runs)


def test_costs_as_stated_are_what_is_shown():
  runs = [run("a", 0, 1.0), run("b", 0, 1.0), *rivals(20)]
  assert [r.label for r in shown_runs(runs)] == ["a draw=0", "b draw=0"]
  assert len(shown_runs([*rivals(20)])) == 2
  assert over_draws(runs[:2]) == ""


def test_a_draw_stays_within_the_uncertainty_and_is_repeatable():
  plain = Scalars()
  one, again, other = (drawn(plain, n, 0.2) for n in (1, 1, 2))
  assert one == again != other and drawn(plain, 0, 0.2) == plain
  for name in ("matmul_efficiency", "step_overhead_s"):
    ratio = getattr(one, name) / getattr(plain, name)
    assert 0.8 <= ratio <= 1.2 and ratio != 1.0
  assert drawn(plain, 1, 0.9).hbm_efficiency <= 1.0
