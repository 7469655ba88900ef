"""A summary's figures by hand, its form, and its consistency."""

import dataclasses
import json
import math

import pytest

from pdjax import config
from pdjax import events as ev
from pdjax.metrics.breakdown import PARTS
from pdjax.metrics.flags import Facts, caveats
from pdjax.metrics.requests import request_table
from pdjax.metrics.summary import summarize
from pdjax.metrics.throughput import makespan_ns
from tests.metrics.scripted import hand_made, simulated

RUN = config.Run(
    cluster=config.Cluster(
        pools=(
            config.Pool(role="P", count=1, tp=2),
            config.Pool(role="D", count=1),
            config.Pool(role="C", count=1, pp=3),
        ),
        chip="h100-sxm",
    ),
    slo=config.SLO(ttft_s=5.5e-6, attainment=0.4),
)


def test_by_hand():
  summary = summarize(request_table(hand_made()), RUN)
  assert summary["kind"] == "simulated"
  assert summary["chips"] == 2 + 1 + 3
  assert [summary[n] for n in ("sent", "completed", "rejected", "aborted")] == [
      5, 3, 1, 1,
  ]
  assert summary["failed"] == summary["unfinished"] == 0
  # From 0 until the abort at 21 us; tokens of the three that finished.
  assert summary["duration"] == pytest.approx(21e-6)
  assert summary["total_input_tokens"] == 10 + 4 + 3
  assert summary["total_output_tokens"] == 3 + 4 + 1
  assert summary["request_throughput"] == pytest.approx(3 / 21e-6)
  assert summary["output_throughput"] == pytest.approx(8 / 21e-6)
  assert summary["total_token_throughput"] == pytest.approx(25 / 21e-6)
  assert summary["mean_ttft_ms"] == pytest.approx((5 + 6 + 4) / 3 * 1e-3)
  assert summary["median_ttft_ms"] == summary["p50_ttft_ms"] == 5e-3
  assert summary["p50_itl_ms"] == 4e-3
  assert summary["mean_tpot_ms"] == pytest.approx((3.25 + 14 / 3) / 2 * 1e-3)
  assert summary["mean_ttft_kv_landed_ms"] == pytest.approx(6e-3)
  assert summary["slo_attainment"] == 2 / 4 and summary["slo_met"] is True
  assert summary["slo_share[ttft <= 5.5e-06 s]"] == 2 / 4
  assert summary["request_goodput_per_chip"] == pytest.approx(2 / 21e-6 / 6)
  assert summary["recomputed_tokens"] == 5 and summary["preemptions"] == 1
  assert summary["max_generator_lag_ms"] == 1e-3
  assert summary["mean_decode_batch"] == 1
  assert summary["mean_prefill_tokens_per_step"] == 28 / 4


def test_flags_of_the_hand_made_run():
  summary = summarize(request_table(hand_made()), RUN)
  flags = summary["flags"]
  # At kv_landed request 0 is at 8 us, so only request 4 is good.
  assert any("SLO depends on the first-token anchor" in f for f in flags)
  assert "1 of 5 requests did not finish" in flags
  assert summary["notes"][0] == (
      "1 requests given up by their clients, in no SLO"
  )
  assert summary["notes"][1] == (
      "no p99 of ttft, ttst, tpot, itl, itl_first, e2el: it needs 300 values,"
      " 3 requests completed"
  )
  assert any(f.startswith("generator late") for f in flags)
  assert summary["doubtful"]


def test_few_requests_alone_raise_no_doubt():
  run, log, _, _ = simulated("1C", "continuous", rate=5.0)
  summary = summarize(request_table(log), run)
  assert summary["notes"] and not summary["doubtful"]


def test_offered_rate_and_drain_tail_by_hand():
  # Requests of the hand-made log all arrive within its first microseconds.
  table = request_table(hand_made())
  span_s = float(table["arrival_ns"].max() - table["arrival_ns"].min()) / 1e9
  summary = summarize(table, RUN)
  assert summary["arrival_span"] == span_s
  assert summary["offered_rate"] == pytest.approx(5 / span_s)
  assert summary["offered_rate_per_chip"] == pytest.approx(5 / span_s / 6)
  drain = "drain tail: throughput and goodput are below steady state"
  assert drain in summary["flags"]
  assert drain not in caveats(
      RUN, summary | {"duration": 1.1 * span_s}, Facts()
  )


def test_sample_and_ignored_reuse_are_flagged():
  workload = config.Workload(kind="mooncake")
  run = dataclasses.replace(RUN, workload=workload)
  facts = Facts(prefix_reuse_share=0.4)
  flags = summarize(request_table(hand_made()), run, facts=facts)["flags"]
  sample = "requests are the mooncake SAMPLE made for pdjax, not the trace"
  assert sample in flags
  assert "prefix reuse of 40% ignored: prefix cache is off" in flags
  real = dataclasses.replace(workload, path="a.csv")
  run = dataclasses.replace(RUN, workload=real)
  flags = summarize(request_table(hand_made()), run)["flags"]
  assert not any("SAMPLE" in f or "reuse" in f for f in flags)


def test_facts_are_copied_and_flagged():
  facts = Facts(
      padded_token_fraction=0.25, pages_leaked=2, compiles_in_window=1,
      tokens_differing=3, tokens_unscored=4, others_core_share=0.34,
  )
  run = config.Run(backend=config.Backend(kind="jax"))
  summary = summarize(
      request_table(hand_made()), run, chips=4, facts=facts
  )
  assert summary["kind"] == "measured" and summary["chips"] == 4
  assert summary["padded_token_fraction"] == 0.25
  assert "tokens_verified" not in summary
  for flag in (
      "3 verified tokens differ", "2 pages leaked", "1 compiles in the window",
      "not a number in the logits of 4 tokens",
      "not alone: other programs took 34% of the time of its cores",
  ):
    assert flag in summary["flags"]
  assert "tokens not verified" in summary["flags"]


@pytest.mark.parametrize("log", [ev.Log(), hand_made()], ids=["empty", "hand"])
def test_fit_for_json(log):
  summary = summarize(request_table(log), RUN)
  text = json.dumps(summary, allow_nan=False)
  assert json.loads(text) == summary


def test_mean_parts_sum_to_mean_latency():
  run, log, _, _ = simulated("1P1D", "disaggregated", tight=True)
  summary = summarize(request_table(log), run)
  parts = math.fsum(summary[f"mean_{part}_ms"] for part in PARTS)
  assert parts == pytest.approx(summary["mean_e2el_ms"])
  assert summary["preemptions"] > 0


def test_overload_is_flagged_and_a_calm_run_is_not():
  grew = "queue kept growing while requests arrived"
  for rate, expected in ((5.0, False), (400.0, True)):
    run, log, _, _ = simulated("1C", "continuous", rate=rate)
    flags = summarize(request_table(log), run)["flags"]
    assert (grew in flags) == expected


def test_makespan_of_a_cut_run_ends_with_the_log():
  log = ev.Log()
  for at_ps, entry in hand_made():
    if at_ps < 11_000_000:
      log.append(at_ps, entry)
  assert makespan_ns(request_table(log)) == 10_000


def test_p99_needs_300_requests():
  run, log, _, _ = simulated("1C", "continuous", num_requests=299, rate=5.0)
  few = summarize(request_table(log), run)
  assert few["p99_ttft_ms"] is None and "p99_ttft_ms" in few["refused"]
  assert few["p99_ttft_kv_landed_ms"] is None
  assert few["p90_ttft_ms"] is not None and few["p99_itl_ms"] is not None
  run, log, _, _ = simulated("1C", "continuous", num_requests=300, rate=5.0)
  enough = summarize(request_table(log), run)
  assert enough["p99_ttft_ms"] > enough["p90_ttft_ms"]
  assert not any(name.endswith("ttft_ms") for name in enough["refused"])


def test_bounds_hold_their_figures():
  run, log, _, _ = simulated("1C", "continuous", num_requests=600, rate=10.0)
  row = summarize(request_table(log), run)
  assert row["slo_attainment_low"] <= row["slo_attainment"]
  assert row["slo_attainment"] <= row["slo_attainment_high"] <= 1
  for name in ("mean_ttft", "mean_e2el", "p50_itl"):
    low, high = row[f"{name}_low_ms"], row[f"{name}_high_ms"]
    assert low <= row[f"{name}_ms"] <= high
  assert 100 <= row["effective_requests"] <= 600


def test_a_term_that_cannot_be_judged_is_said():
  slo = config.SLO(terms=(("ttft", "p99", "run", 1.0),))
  run = dataclasses.replace(RUN, slo=slo)
  summary = summarize(request_table(hand_made()), run)
  assert summary["slo_met"] is None
  assert "SLO not judged: too few values for p99 ttft <= 1 s" in (
      summary["flags"]
  )


def test_power_and_price_of_tokens():
  log, run = hand_made(), config.Run()
  table = request_table(log)
  facts = Facts(tdp_w=400.0, usd_per_hour=3.6)
  told, plain = summarize(table, run, facts=facts), summarize(table, run)
  per_s = told["output_throughput"]
  assert told["output_tokens_per_joule"] == pytest.approx(per_s / 400)
  assert told["usd_per_million_output_tokens"] == pytest.approx(1e3 / per_s)
  assert "output_tokens_per_joule" not in plain
