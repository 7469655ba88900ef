"""Doubts and caveats of runs at the edges: no request, no span, no sample."""

import dataclasses

import pytest

from pdjax import config
from pdjax.metrics.flags import Facts, caveats
from pdjax.metrics.summary import summarize
from tests.metrics.tiny import STEADY, served

DRAIN = "drain tail: throughput and goodput are below steady state"
EMPTY = "no request in the window"
ONE = config.Lengths(kind="fixed", mean=1.0)
RUN_TERM = ("ttft", "mean", "run", 10.0)


def summary_of(slo=None, **workload):
  run, _, table = served(slo, **workload)
  return summarize(table, run)


@pytest.mark.parametrize(
    "slo", [config.SLO(ttft_s=10.0), config.SLO(terms=(RUN_TERM,))],
    ids=["request", "run"],
)
def test_a_window_without_a_request_meets_and_misses_nothing(slo):
  # Both users ask at once, and think for longer than the run lasts.
  row = summary_of(
      slo, arrival="closed", rate=None, concurrency=2, think_time_s=1e5,
      num_requests=60,
      **STEADY,
  )
  assert row["sent"] == 0 and row["doubtful"]
  assert row["slo_met"] is row["slo_attainment"] is None
  assert row["flags"] == [EMPTY]
  assert EMPTY not in summary_of(slo, **STEADY)["flags"]


def test_nobody_wanted_is_not_judged_and_nobody_served_is_missed():
  slo = config.SLO(ttft_s=10.0, terms=(RUN_TERM,))
  gone = summary_of(slo, cancel_fraction=1.0, cancel_after_s=1e-9)
  assert gone["aborted"] == gone["sent"] and gone["slo_met"] is None
  late = summary_of(slo, deadline_s=1e-4)
  assert late["late"] == late["sent"] and late["slo_met"] is False


def test_rounded_pages_are_a_caveat_and_no_doubt():
  run, _, table = served()
  row = summarize(table, run, facts=Facts(token_agreement=0.965))
  lines = [line for line in row["flags"] if line.startswith("not exact: KV")]
  assert len(lines) == 1 and "96.50% of the verified tokens" in lines[0]
  assert row["token_agreement"] == 0.965


def test_a_run_term_without_a_sample_is_not_judged():
  slo = config.SLO(terms=(("tpot", "mean", "run", 10.0),))
  row = summary_of(slo, output=ONE)
  assert row["completed"] == 60 and row["slo_met"] is None
  assert "SLO not judged: too few values for mean tpot <= 10 s" in row["flags"]


@pytest.mark.parametrize(
    ("workload", "span"),
    [
        ({"arrival": "all_at_once", "rate": None}, False),
        ({"arrival": "closed", "rate": None, "concurrency": 60}, False),
        ({"num_requests": 1}, False),
        ({"arrival": "closed", "rate": None, "concurrency": 4}, True),
        ({"arrival": "constant", "rate": 1.0}, True),
    ],
)
def test_what_is_sent_at_once_is_all_drain_tail(workload, span):
  row = summary_of(**workload)
  assert (row["arrival_span"] > 0) == span
  beyond = row["duration"] > 1.1 * row["arrival_span"]
  assert (DRAIN in row["flags"]) == beyond
  assert beyond or span


@pytest.mark.parametrize(
    ("workload", "came", "told"),
    [
        ({}, 216.0, False),
        ({}, 225.0, True),
        ({}, 175.0, True),
        ({"rate": 2.0}, 3.0, False),  # 20 requests: within chance
        ({"rate": 2.0}, 3.5, True),
        ({"arrival": "gamma", "arrival_cv": 4.0}, 225.0, False),
        ({"arrival": "closed", "concurrency": 2}, 225.0, False),
        ({"kind": "azure", "path": "x", "arrival": "trace"}, 225.0, True),
    ],
)
def test_a_window_at_another_rate_than_asked_for_is_told(workload, came, told):
  run, _, table = served(**STEADY)
  asked = dataclasses.replace(
      run.workload, **{"duration_s": 10.0, "arrival": "poisson"} | workload
  )
  run = dataclasses.replace(run, workload=asked)
  lines = caveats(
      run, summarize(table, run) | {"offered_rate": came}, Facts()
  )
  (*_, why) = [line for line in lines if line.startswith("offered")] or [""]
  assert bool(why) == told
  if told:
    start = f"offered {came:g} requests/s in the window, {asked.rate:g} conf"
    assert why.startswith(start)
    assert ("trace's pace" in why) == (asked.kind == "azure")
