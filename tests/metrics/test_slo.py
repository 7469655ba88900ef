"""SLO terms on the hand-made log, and laws on simulated ones."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdjax.config import SLO
from pdjax.metrics.requests import request_table
from pdjax.metrics.slo import judge, keeps_term, problems, terms_of
from tests.metrics.scripted import hand_made, simulated

US = 1e-6


@pytest.fixture(scope="module")
def table():
  return request_table(hand_made())


@pytest.fixture(scope="module")
def loaded():
  """A crowded run, so that terms cut in the middle."""
  _, log, _, _ = simulated("1C", "continuous", num_requests=80, rate=60.0)
  return request_table(log)


def test_good_over_sent_but_not_aborted(table):
  # TTFT 5, 6, -, -, 4 us; the fourth was given up by its client.
  verdict = judge(table, SLO(ttft_s=5 * US))
  assert verdict.good == 2 and verdict.attainment == 2 / 4
  assert verdict.met is False
  assert judge(table, SLO(ttft_s=9 * US, attainment=0.6)).met is True


def test_one_token_keeps_tpot_vacuously(table):
  # TPOT 3.25, 4.67 us, and none for request 4.
  verdict = judge(table, SLO(tpot_s=4 * US))
  assert verdict.good == 2 and verdict.vacuous == 1
  (term,) = terms_of(SLO(tpot_s=4 * US))
  kept, vacuous = keeps_term(table, term)
  assert kept.tolist() == [True, False, False, False, True]
  assert vacuous.tolist() == [False, False, False, False, True]


def test_all_is_joint_and_each_is_the_worst_term(table):
  # TTFT <= 5 us keeps 0 and 4; first gap <= 2 us keeps 1 and 4 (no gap).
  terms = (
      ("ttft", "value", "request", 5 * US),
      ("itl_first", "value", "request", 2 * US),
  )
  assert judge(table, SLO(terms=terms)).attainment == 1 / 4
  assert judge(table, SLO(terms=terms, join="each")).attainment == 2 / 4


@pytest.mark.parametrize(
    ("metric", "statistic", "value_us"),
    [
        ("itl", "mean", 20.5 / 5),
        ("itl", "p50", 4),
        ("itl", "max", 8),
        ("itl", "worst10_mean", 8),
        ("ttft", "p50", 5),
        ("e2el", "mean", (11.5 + 20 + 4) / 3),
    ],
)
def test_run_terms_by_hand(table, metric, statistic, value_us):
  limit_s = value_us * US * 1.0001
  (outcome,) = judge(
      table, SLO(terms=((metric, statistic, "run", limit_s),))
  ).outcomes
  assert outcome.value_s == pytest.approx(value_us * US)
  assert outcome.holds
  tight = SLO(terms=((metric, statistic, "run", limit_s * 0.999),))
  assert judge(table, tight).met is False


def test_run_term_alone_gives_no_attainment(table):
  verdict = judge(table, SLO(terms=(("itl", "max", "run", 1.0),)))
  assert verdict.attainment is None and verdict.met is True


def test_no_term_gives_no_verdict(table):
  verdict = judge(table, SLO())
  assert verdict.good is verdict.attainment is verdict.met is None


def test_unknown_names_are_reported_together():
  terms = (
      ("tpto", "value", "request", 1.0),
      ("itl", "p98", "run", 1.0),
      ("ttft", "value", "rum", 1.0),
      ("itl", "value", "request", 1.0),
  )
  lines = problems(SLO(terms=terms))
  assert len(lines) == 4
  assert "did you mean 'tpot'" in lines[0] and "slo.terms[1]" in lines[1]
  assert not problems(SLO(terms=(("itl", "worst10_mean", "run", 0.1),)))


@settings(max_examples=60, deadline=None)
@given(
    ttft_s=st.floats(1e-4, 2.0),
    tpot_s=st.floats(1e-4, 0.05),
    looser=st.floats(1.0, 3.0),
    which=st.sampled_from(["ttft_s", "tpot_s"]),
    anchor=st.sampled_from(["prefill_sampled", "kv_landed", "first_decode"]),
)
def test_looser_never_lowers_attainment(
    loaded, ttft_s, tpot_s, looser, which, anchor
):
  tight = SLO(ttft_s=ttft_s, tpot_s=tpot_s)
  loose = dataclasses.replace(tight, **{which: getattr(tight, which) * looser})
  table = loaded.under(anchor)
  ours, theirs = judge(table, tight), judge(table, loose)
  assert ours.attainment is not None and theirs.attainment is not None
  assert ours.attainment <= theirs.attainment


@settings(max_examples=30, deadline=None)
@given(st.floats(1e-4, 2.0), st.floats(1e-4, 0.05))
def test_joint_is_never_above_each(loaded, ttft_s, tpot_s):
  joint = judge(loaded, SLO(ttft_s=ttft_s, tpot_s=tpot_s)).good
  each = judge(loaded, SLO(ttft_s=ttft_s, tpot_s=tpot_s, join="each")).good
  assert joint is not None and each is not None and joint <= each


def test_a_percentile_of_too_few_decides_nothing(table):
  slo = SLO(terms=(("ttft", "p90", "run", 1.0),))
  verdict = judge(table, slo)
  assert verdict.outcomes[0].holds is None and verdict.met is None
  # A term that fails decides all the same.
  slo = dataclasses.replace(slo, ttft_s=US)
  assert judge(table, slo).met is False
