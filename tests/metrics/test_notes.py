"""What is said calmly of a run, and when nothing is."""

import pytest

from pdjax import config
from pdjax.metrics.summary import summarize
from tests.metrics.tiny import served

LOOSE = config.SLO(ttft_s=10.0, tpot_s=10.0)
ONE = config.Lengths(kind="fixed", mean=1.0)


def noted(slo, **workload):
  run, _, table = served(slo, **workload)
  return [
      note for note in summarize(table, run)["notes"] if note.startswith("SLO")
  ]


def test_terms_kept_without_a_sample_are_told():
  (note,) = noted(LOOSE, output=ONE)
  assert note == "SLO: 60 of 60 requests pass tpot without a sample"
  assert not noted(LOOSE)


def test_a_few_vacuous_requests_are_not_worth_a_word():
  values = (1, *(16,) * 500)
  rare = config.Lengths(kind="empirical", values=values)
  run, _, table = served(LOOSE, output=rare, num_requests=1500, rate=2000.0)
  row = summarize(table, run)
  assert 0 < row["slo_vacuous"] < 15
  assert row["slo_vacuous[tpot <= 10 s]"] == row["slo_vacuous"]
  assert row["slo_vacuous[ttft <= 10 s]"] == 0
  assert not any("without a sample" in note for note in row["notes"])


@pytest.mark.parametrize(
    ("attainment", "count", "least"),
    [(0.9, 29, 30), (0.9, 30, None), (0.5, 29, 30), (0.95, 59, 60),
     (0.95, 60, None)],
)
def test_an_attainment_of_few_requests_is_told(attainment, count, least):
  slo = config.SLO(ttft_s=10.0, attainment=attainment)
  assert noted(slo, num_requests=count) == ([] if least is None else [
      f"SLO: attainment is of {count} requests, too few to tell"
      f" {attainment:g} from less: it needs {least}"
  ])
