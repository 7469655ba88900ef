"""Goodput by hand and against a slow count."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdjax.config import SLO
from pdjax.events import Log
from pdjax.metrics import cuts
from pdjax.metrics.goodput import deadline_tokens, goodput
from pdjax.metrics.requests import request_table
from pdjax.metrics.summary import summarize
from tests.metrics.scripted import hand_made, simulated, token_times_ns
from tests.metrics.tiny import STEADY, served

US = 1e-6


def test_by_hand():
  table = request_table(hand_made())
  slo = SLO(ttft_s=6 * US, tpot_s=2 * US)
  # Request 0: 5 in time, 10 after 8, 11.5 after 10. Request 1: 6 in time, 8 in
  # time, 16 after 10, 20 after 12. Request 4: 4 in time. Request 3 has one in
  # time too, but was given up.
  assert deadline_tokens(table, slo) == 1 + 2 + 1
  found = goodput(table, slo, chips=4)
  # Good: only request 4 (TPOT of 0 is 3.25 us, of 1 is 4.67 us).
  assert found.requests_per_s == pytest.approx(1 / 21e-6)
  assert found.requests_per_s_per_chip == pytest.approx(1 / 84e-6)
  assert found.deadline_tokens_per_s == pytest.approx(4 / 21e-6)
  assert found.deadline_token_share == pytest.approx(4 / 9)


def test_null_without_the_terms():
  table = request_table(hand_made())
  found = goodput(table, SLO(), 1)
  assert found.requests_per_s is found.deadline_tokens_per_s is None
  assert deadline_tokens(table, SLO(ttft_s=1.0)) is None
  empty = request_table(Log())
  assert goodput(empty, SLO(ttft_s=1.0), 1).requests_per_s is None


@pytest.mark.parametrize("batch_tokens", [1, 37, 1 << 20])
def test_same_as_counting_tokens(batch_tokens, monkeypatch):
  monkeypatch.setattr(cuts, "BATCH_TOKENS", batch_tokens)
  _, log, _, _ = simulated("1C", "continuous", num_requests=40, rate=60.0)
  table, times = request_table(log), token_times_ns(log)
  slo = SLO(ttft_s=0.15, tpot_s=0.009)
  late = 0
  for id, arrival_ns in zip(
      table["request"], table["arrival_ns"], strict=True
  ):
    for index, at_ns in enumerate(times[id]):
      late += at_ns > arrival_ns + 0.15e9 + 0.009e9 * index
  made = sum(map(len, times.values()))
  assert 0 < late < made
  assert deadline_tokens(table, slo) == made - late


_LIMITS_S = st.sampled_from([1e-4, 1e-3, 0.01, 10.0])


@settings(max_examples=25, deadline=None)
@given(
    protocol=st.sampled_from([{}, STEADY]),
    deadline_s=st.sampled_from([None, 1e-4, 5e-3, 0.02, 1.0]),
    cancelled=st.sampled_from([0.0, 0.5]), ttft_s=_LIMITS_S, tpot_s=_LIMITS_S,
)
def test_never_above_the_throughput(
    protocol, deadline_s, cancelled, ttft_s, tpot_s
):
  run, log, table = served(
      SLO(ttft_s=ttft_s, tpot_s=tpot_s), **protocol, deadline_s=deadline_s,
      cancel_fraction=cancelled, cancel_after_s=0.01,
  )
  row = summarize(table, run)
  assert row["deadline_token_goodput"] <= row["output_throughput"]
  if min(ttft_s, tpot_s) == 10:
    assert row["deadline_token_goodput"] == row["output_throughput"]
  assert deadline_tokens(table, run.slo) == _slow(log, table, run.slo)


def _slow(log, table, slo):
  """Tokens in time, one by one."""
  times, window, found = token_times_ns(log), table.window, 0
  rows = zip(table["request"], table["arrival_ns"], table["state"], strict=True)
  for id, arrival_ns, state in rows:
    for index, at_ns in enumerate(times[id] if state == "finished" else ()):
      due_ns = arrival_ns + 1e9 * slo.ttft_s + 1e9 * slo.tpot_s * index
      counts = not window or window.begin_ns <= at_ns < window.end_ns
      found += counts and at_ns <= due_ns
  return found


def test_tokens_of_requests_that_were_late_count_nowhere():
  run, _, table = served(SLO(ttft_s=10.0, tpot_s=10.0), deadline_s=0.002)
  row = summarize(table, run)
  assert row["late"] == row["sent"] and table["output_tokens"].any()
  assert row["deadline_token_goodput"] == row["output_throughput"] == 0
  assert row["deadline_token_share"] == 0
