"""A rate passes, fails or is undecided, by every term of the SLO."""

import pytest

from pdjax.config import SLO
from pdjax.search.judging import at_sight, confidence_of, judged, looks
from tests.search.scripted import SLO_, row

RUN = SLO(terms=(("itl", "p99", "run", 0.1),))
TERM = "p99 itl <= 0.1 s"


def gaps(*values, holds=None):
  return [
      {"sent": 9, f"slo_value_s[{TERM}]": v, f"slo_holds[{TERM}]": holds}
      for v in values
  ]


@pytest.mark.parametrize(
    ("good", "outcome"),
    [([980] * 4, "pass"), ([700, 720, 690, 710], "fail"),
     ([890, 910, 895, 905], "undecided")],
)
def test_shares(good, outcome):
  found = judged([row(each, 1000) for each in good], SLO_, 0.95)
  assert found.outcome == outcome
  assert found.attainment.estimate == sum(good) / 4000


@pytest.mark.parametrize(
    ("values", "outcome"),
    [((0.05, 0.06, 0.05), "pass"), ((0.2, 0.21, 0.2), "fail"),
     ((0.09, 0.12, 0.08), "undecided")],
)
def test_run_terms(values, outcome):
  found = judged(gaps(*values), RUN, 0.95)
  assert (found.outcome, found.attainment) == (outcome, None)


def test_a_run_without_a_value_fails_or_tells_nothing():
  assert judged(gaps(None, 0.05, holds=False), RUN, 0.95).outcome == "fail"
  assert judged(gaps(None, 0.05), RUN, 0.95).outcome == "undecided"
  assert at_sight(gaps(None, holds=False), RUN).outcome == "fail"


def test_each_term_by_itself_the_worst_is_told():
  slo = SLO(ttft_s=1.0, tpot_s=0.1, join="each", attainment=0.9)
  rows = [
      row(500, 1000) | {
          "slo_share[ttft <= 1 s]": 0.99, "slo_share[tpot <= 0.1 s]": 0.97
      }
  ] * 4
  found = judged(rows, slo, 0.95)
  assert found.outcome == "pass" and found.attainment.estimate == 0.97


def test_one_bad_term_is_enough():
  slo = SLO(ttft_s=1.0, terms=RUN.terms, attainment=0.9)
  rows = [row(1000, 1000) | one for one in gaps(0.2, 0.2, 0.2, 0.21)]
  rows = [one | {"sent": 1000} for one in rows]
  assert judged(rows, slo, 0.95).outcome == "fail"


def test_at_sight_needs_no_interval():
  assert at_sight([row(900, 1000)], SLO_).outcome == "pass"
  assert at_sight([row(899, 1000)], SLO_).outcome == "fail"
  assert judged([row(1000, 1000)], SLO_, 0.95).outcome == "undecided"
  nobody = {"sent": 0, "aborted": 0, "slo_attainment": None}
  assert at_sight([nobody], SLO_).outcome == "undecided"


def test_requests_given_up_are_not_wanted():
  given_up = row(90, 100) | {"sent": 200, "aborted": 100}
  assert at_sight([given_up], SLO_).attainment.estimate == 0.9


def test_looks_share_the_error():
  assert looks(8) == [4, 8] and looks(2) == [2]
  assert confidence_of(2) == pytest.approx(0.975)
