"""What is written for other tools, recomputed by their definitions."""

import csv
import io
import json

import numpy as np
import pytest

from pdjax import config
from pdjax.foreign import aiperf, aiperf_reader, vllm, vllm_reader
from pdjax.foreign.aiperf_writer import csv_text
from pdjax.foreign.served import Served, gaps_ns
from pdjax.foreign.vllm_writer import _peaks, result
from pdjax.metrics.requests import request_table
from pdjax.metrics.summary import summarize
from tests.metrics.scripted import hand_made
from tests.metrics.tiny import STEADY, served


def of(run, table, label="it"):
  return Served(
      label=label, run=run, summary=summarize(table, run),
      table=table.measured(), started="2026-01-31T12:30:05+00:00",
  )


@pytest.fixture(scope="module", params=["count", "steady", "cancelled"])
def one(request):
  workload = {
      "count": {"output": config.Lengths(kind="lognormal", mean=20.0)},
      "steady": STEADY,
      "cancelled": {"cancel_fraction": 0.5, "cancel_after_s": 0.01},
  }[request.param]
  run, _, table = served(slo=config.SLO(ttft_s=0.02, tpot_s=0.01), **workload)
  return of(run, table)


def known(row, name):
  return np.array([
      value for value, error in zip(row[name], row["errors"], strict=True)
      if not error
  ])


def test_every_key_of_vllm_is_there(one):
  row = result(one)
  assert {*vllm.SCALARS, *vllm.SETTINGS, *vllm.DETAILS} <= row.keys()
  lengths = {len(row[name]) for name in vllm.DETAILS}
  assert lengths == {row["num_prompts"]} == {len(one.table)}
  assert not set(vllm.DETAILS) & result(one, detailed=False).keys()
  assert row["date"] == "20260131-123005"


def test_statistics_follow_from_the_lists(one):
  # As vLLM computes them, in milliseconds of its lists of seconds.
  row = result(one)
  lens = known(row, "output_lens")
  ttft, e2el = known(row, "ttfts"), known(row, "latencies")
  itls = [g for gaps in row["itls"] for g in gaps]
  tpot = ((e2el - ttft) / np.maximum(lens - 1, 1))[lens > 1]
  for name, values in (
      ("ttft", ttft), ("tpot", tpot), ("itl", itls), ("e2el", e2el),
  ):
    expected = {
        "mean": np.mean(values), "median": np.median(values),
        "std": np.std(values), "p50": np.percentile(values, 50),
    }
    for statistic, value in expected.items():
      key = vllm.statistic(statistic, name)
      assert row[key] == pytest.approx(1e3 * value, abs=1e-6), key


def test_lists_add_up_request_by_request(one):
  row = result(one)
  for length, ttft, gaps, latency, error in zip(
      row["output_lens"], row["ttfts"], row["itls"], row["latencies"],
      row["errors"], strict=True,
  ):
    if error:
      assert (length, ttft, gaps, latency) == (0, 0.0, [], 0.0)
    else:
      assert len(gaps) == length - 1
      assert ttft + sum(gaps) == pytest.approx(latency, abs=1e-8)


def test_counts_and_peaks(one):
  row = result(one)
  failed = [error for error in row["errors"] if error]
  assert row["failed"] == len(failed)
  assert row["completed"] == row["num_prompts"] - len(failed)
  # Everything is over within a second: one bucket has it all.
  done = np.array(row["errors"]) == ""
  ends = (np.array(row["start_times"]) + row["latencies"])[done]
  if ends.max() - np.array(row["start_times"])[done].min() < 1:
    assert row["max_output_tokens_per_s"] == sum(row["output_lens"])
    assert row["max_concurrent_requests"] == row["completed"]


def test_peaks_by_hand():
  # Alive in seconds 0-1 and 1-2: both in second 1. Tokens at 0.5, 1.5 and
  # 1.2, 2.4 s.
  class Table:
    finished = np.array([True, True])
    columns = {
        "arrival_ns": np.array([0, 10**9]),
        "ended_ns": np.array([15 * 10**8, 24 * 10**8]),
        "first_token_ns": np.array([5 * 10**8, 12 * 10**8]),
    }

    def __getitem__(self, name):
      return self.columns[name]

  fake = Served(label="", run=config.Run(), summary={}, table=Table())  # pyright: ignore
  found = _peaks(
      fake, np.array([10**9, 12 * 10**8]), np.array([1, 1])
  )
  assert found == (2.0, 2)


def test_the_first_gap_starts_at_the_anchor():
  # A hand-off holds the first token back: its first gap is shorter.
  late = request_table(hand_made(), "at_handoff")
  early = request_table(hand_made())
  for table in (late, early):
    gaps, counts = gaps_ns(table)
    first = np.cumsum(counts) - counts
    some = counts > 0
    assert gaps[first[some]].tolist() == (
        np.ma.getdata(table["itl_first_ns"])[some].tolist()
    )
  assert gaps_ns(late)[0].sum() < gaps_ns(early)[0].sum()


@pytest.mark.parametrize("arrival, workload, rate, burstiness", [
    ("poisson", {"rate": 4.0}, 4.0, 1.0),
    ("gamma", {"rate": 4.0, "arrival_cv": 2.0}, 4.0, 0.25),
    ("all_at_once", {}, "inf", None),
])
def test_the_load_in_vllms_words(arrival, workload, rate, burstiness):
  run = config.Run(workload=config.Workload(arrival=arrival, **workload))
  row = result(of(run, request_table(hand_made())))
  assert (row["request_rate"], row["burstiness"]) == (rate, burstiness)


def test_aiperf_columns(one):
  upper, _, lower = csv_text(one).replace("\r\n", "\n").partition("\n\n")
  rows = list(csv.DictReader(io.StringIO(upper)))
  assert list(rows[0]) == ["Metric", *aiperf.STATISTICS]
  by_name = {row["Metric"]: row for row in rows}
  assert list(by_name) == [m.heading for m in aiperf.DISTRIBUTIONS]
  details = result(one)
  itls = 1e3 * np.array([g for gaps in details["itls"] for g in gaps])
  found = by_name["Inter Chunk Latency (ms)"]
  assert float(found["max"]) == pytest.approx(itls.max(), abs=0.006)
  assert float(found["sum"]) == pytest.approx(itls.sum(), abs=0.006)
  assert float(found["std"]) == pytest.approx(itls.std(), abs=0.006)
  # Both tails are refused of fewer than 300 requests.
  ttft = by_name["Time to First Token (ms)"]
  assert ttft["p1"] == ttft["p99"] == "" and float(ttft["p50"]) > 0
  single = {row["Metric"]: row["Value"] for row in csv.DictReader(
      io.StringIO(lower)
  )}
  assert int(single["Request Count"]) == one.summary["completed"]
  assert int(single["Error Request Count"]) == one.unfinished


def test_what_is_written_for_vllm_is_read_back(one):
  # Through JSON, as a file would be.
  found = vllm_reader.read(json.loads(json.dumps(result(one))), "a file")
  done = one.table.finished
  assert (found.completed, found.failed) == (done.sum(), (~done).sum())
  for name in ("mean_ttft_ms", "p50_itl_ms", "mean_e2el_ms"):
    assert found.figures[name] == pytest.approx(one.summary[name])
  ttft_ms = np.ma.getdata(one.table["ttft_ns"])[done] / 1e6
  assert found.requests.ttft_ms == pytest.approx(ttft_ms)
  gaps, _ = gaps_ns(one.table)
  assert np.concatenate(found.requests.gaps_ms) == pytest.approx(gaps / 1e6)


def test_what_is_written_for_aiperf_is_read_back(one):
  found = aiperf_reader.read_csv(csv_text(one), "a file")
  for name in ("mean_ttft_ms", "p50_tpot_ms", "mean_e2el_ms"):
    assert found.figures[name] == pytest.approx(one.summary[name], abs=0.006)
  assert found.completed == one.summary["completed"]
