"""Goodput by hand and against a slow count."""

import pytest

from pdjax.config import SLO
from pdjax.metrics import goodput as module
from pdjax.metrics.goodput import deadline_tokens, goodput
from pdjax.metrics.requests import request_table
from tests.metrics.scripted import hand_made, simulated, token_times_ns

US = 1e-6


def test_by_hand():
  table = request_table(hand_made())
  slo = SLO(ttft_s=6 * US, tpot_s=2 * US)
  # Request 0: 5 in time, 10 after 8, 11.5 after 10. Request 1: 6 in time, 8 in
  # time, 16 after 10, 20 after 12. Request 3: 6 in time. Request 4: 4 in time.
  assert deadline_tokens(table, slo) == 1 + 2 + 1 + 1
  served = goodput(table, slo, duration_ns=20_000, chips=4)
  # Good: only request 4 (TPOT of 0 is 3.25 us, of 1 is 4.67 us).
  assert served.requests_per_s == pytest.approx(1 / 20e-6)
  assert served.requests_per_s_per_chip == pytest.approx(1 / 80e-6)
  assert served.deadline_tokens_per_s == pytest.approx(5 / 20e-6)
  assert served.deadline_token_share == pytest.approx(5 / 9)


def test_null_without_the_terms():
  table = request_table(hand_made())
  served = goodput(table, SLO(), 1000, 1)
  assert served.requests_per_s is served.deadline_tokens_per_s is None
  assert deadline_tokens(table, SLO(ttft_s=1.0)) is None
  assert goodput(table, SLO(ttft_s=1.0), 0, 1).requests_per_s is None


@pytest.mark.parametrize("batch_tokens", [1, 37, 1 << 20])
def test_same_as_counting_tokens(batch_tokens, monkeypatch):
  monkeypatch.setattr(module, "_BATCH_TOKENS", batch_tokens)
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
