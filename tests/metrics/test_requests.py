"""One row a request: by hand, against a slow reading, and as laws."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdjax import events as ev
from pdjax.metrics.breakdown import PARTS
from pdjax.metrics.requests import request_table, write_requests
from pdjax.request import Request
from pdjax.segments import Segment
from tests.metrics.scripted import hand_made, simulated, token_times_ns


@pytest.fixture(scope="module")
def table():
  return request_table(hand_made())


def _row(table, request: int) -> dict:
  row = list(table["request"]).index(request)
  return {name: values[row] for name, values in table.columns.items()}


def _parts(row: dict) -> dict:
  return {part: row[f"{part}_ns"] for part in PARTS if row[f"{part}_ns"]}


def test_handed_off_request_by_hand(table):
  row = _row(table, 0)
  assert row["state"] == "finished"
  assert (row["prompt_tokens"], row["output_tokens"]) == (10, 3)
  assert (row["arrival_ns"], row["delivered_ns"], row["lag_ns"]) == (
      0, 1000, 1000,
  )
  assert row["prefill_sampled_ns"] == 5000
  assert row["kv_landed_ns"] == 8000
  assert row["first_decode_ns"] == 10000
  assert row["ttst_ns"] == 10000
  assert row["e2el_ns"] == 11500
  assert row["itl_later_max_ns"] == 1500
  assert row["tpot_ns"] == (11500 - 5000) / 2
  assert _parts(row) == {
      "queue_prefill": 2000, "prefill": 3000, "transfer_wait": 1000,
      "transfer": 2000, "queue_decode": 1000, "decode": 2500,
  }
  assert table.workers[0] == (0, 1)


@pytest.mark.parametrize(
    ("anchor", "ttft_ns", "first_gap_ns", "longest_ns"),
    [
        ("prefill_sampled", 5000, 5000, 5000),
        ("kv_landed", 8000, 2000, 2000),
        ("first_decode", 10000, 0, 1500),
    ],
)
def test_anchor_moves_the_first_token_only(
    table, anchor, ttft_ns, first_gap_ns, longest_ns
):
  row = _row(table.under(anchor), 0)
  assert row["ttft_ns"] == row[f"ttft_{anchor}_ns"] == ttft_ns
  assert row["itl_first_ns"] == first_gap_ns
  assert row["itl_max_ns"] == longest_ns
  assert row["tpot_ns"] == (11500 - ttft_ns) / 2
  assert (row["ttst_ns"], row["e2el_ns"]) == (10000, 11500)


def test_anchors_agree_where_nothing_moves(table):
  for anchor in ("kv_landed", "first_decode"):
    assert _row(table.under(anchor), 1)["ttft_ns"] == 6000


def test_first_token_of_the_strategy_picks_the_anchor():
  table = request_table(hand_made(), "at_handoff")
  assert _row(table, 0)["first_token_ns"] == 8000


def test_preempted_request_by_hand(table):
  row = _row(table, 1)
  assert (row["preemptions"], row["recomputed_tokens"]) == (1, 5)
  assert row["output_tokens"] == 4
  assert row["ttft_ns"] == 6000
  assert row["itl_first_ns"] == 2000
  assert row["itl_max_ns"] == 8000  # 8 to 16, across the preemption
  assert row["e2el_ns"] == 20000
  # 0..1 queue, 1..6 both chunks, 6..7 queue, 7..9 decode, 9..16 preempted
  # until the recomputation is done, 16..18 queue, 18..20 decode.
  assert _parts(row) == {
      "queue_prefill": 1000, "prefill": 5000, "queue_decode": 3000,
      "decode": 4000, "preempted": 7000,
  }
  assert row["kv_landed_ns"] is np.ma.masked


def test_requests_that_do_not_finish(table):
  rejected, aborted = _row(table, 2), _row(table, 3)
  assert rejected["state"] == "rejected" and aborted["state"] == "aborted"
  assert rejected["ended_ns"] == 3000 and aborted["ended_ns"] == 21000
  assert rejected["ttft_ns"] is np.ma.masked
  assert aborted["output_tokens"] == 1 and aborted["ttft_ns"] == 6000
  assert aborted["e2el_ns"] is np.ma.masked
  assert aborted["decode_ns"] is np.ma.masked


def test_one_token_has_no_gap(table):
  row = _row(table, 4)
  assert row["state"] == "finished" and row["output_tokens"] == 1
  assert row["e2el_ns"] == row["ttft_ns"] == 4000
  for name in ("ttst_ns", "tpot_ns", "itl_first_ns", "itl_max_ns"):
    assert row[name] is np.ma.masked


def test_pooled_gaps_count_finished_requests(table):
  # Request 0: 5, 1.5 us; request 1: 2, 8, 4 us. Request 3 never finished.
  sample = table.sample("itl")
  expanded = np.repeat(sample.values, sample.count).tolist()
  assert expanded == [1500, 2000, 4000, 5000, 8000]


def test_step_totals(table):
  assert table.steps.steps == 8
  assert table.steps.decode_steps == 4 and table.steps.decode_tokens == 4
  assert table.steps.prefill_steps == 4
  assert table.steps.prefill_tokens == 10 + 4 + 6 + 5 + 3


def test_overlapped_transfer_is_hidden_behind_prefill():
  # Two pieces move: 3..4 while the prompt is computed (2..6), and 5..9.
  us, log = 10**6, ev.Log()
  request = Request(id=0, arrival_ps=0, prompt_tokens=8, max_tokens=2)
  log.append(0, ev.Arrived(0, request))
  log.append(2 * us, ev.Step(0, ((0, 8),), run=0))
  log.append(3 * us, ev.Transfer(0, 0, 1, (0, 1), transfer=0))
  log.append(4 * us, ev.TransferEnded(4 * us, 0, 0, 1))
  log.append(5 * us, ev.Transfer(0, 0, 1, (1, 2), transfer=1))
  chunk = (Segment(1, 4 * us),)
  log.append(6 * us, ev.StepEnded(6 * us, 0, 0, 0, 2 * us, 1, chunk))
  log.append(9 * us, ev.TransferEnded(9 * us, 1, 0, 1))
  log.append(10 * us, ev.Step(1, decode=(0,), run=1))
  decode = (Segment(1, us),)
  log.append(
      11 * us, ev.StepEnded(11 * us, 1, 0, 1, 10 * us, 1, decode, ((0, 1),))
  )
  row = _row(request_table(log), 0)
  assert row["hidden_transfer_ns"] == 1000 + 1000
  assert row["kv_landed_ns"] == 9000
  assert _parts(row) == {
      "queue_prefill": 2000, "prefill": 4000, "transfer": 3000,
      "queue_decode": 1000, "decode": 1000,
  }


def test_failed_transfer_is_a_wait_until_the_next():
  us, log = 10**6, ev.Log()
  request = Request(id=0, arrival_ps=0, prompt_tokens=8, max_tokens=2)
  log.append(0, ev.Arrived(0, request))
  log.append(0, ev.Step(0, ((0, 8),), run=0))
  chunk = (Segment(1, us),)
  log.append(us, ev.StepEnded(us, 0, 0, 0, 0, 1, chunk))
  log.append(us, ev.Transfer(0, 0, 1, (0, 1), transfer=0))
  log.append(3 * us, ev.TransferEnded(3 * us, 0, 0, 0, "link down"))
  log.append(5 * us, ev.Transfer(0, 0, 1, (0, 1), transfer=1))
  log.append(8 * us, ev.TransferEnded(8 * us, 1, 0, 1))
  log.append(8 * us, ev.Step(1, decode=(0,), run=1))
  log.append(
      9 * us, ev.StepEnded(9 * us, 1, 0, 1, 8 * us, 1, chunk, ((0, 1),))
  )
  row = _row(request_table(log), 0)
  assert row["kv_landed_ns"] == 8000
  assert _parts(row) == {
      "prefill": 1000, "transfer": 5000, "transfer_wait": 2000, "decode": 1000,
  }


def test_empty_log_and_log_without_runs():
  assert len(request_table(ev.Log())) == 0
  log = ev.Log()
  request = Request(id=7, arrival_ps=5000, prompt_tokens=1, max_tokens=1)
  log.append(5000, ev.Arrived(5000, request))
  row = _row(request_table(log), 7)
  assert row["state"] == "unfinished" and row["output_tokens"] == 0


def test_written_rows_read_back(table, tmp_path):
  write_requests(table, tmp_path / "requests.parquet")
  read = pq.read_table(tmp_path / "requests.parquet")
  assert read.column_names == [*table.columns, "workers"]
  rows = read.to_pylist()
  assert rows[2]["ttft_ns"] is None and rows[4]["tpot_ns"] is None
  assert rows[0]["ttft_ns"] == 5000 and rows[0]["workers"] == [0, 1]
  assert read.schema.metadata[b"pdjax.anchor"] == b"prefill_sampled"


RUNS = st.sampled_from([
    ("2C", "continuous", {}),
    ("2C", "chunked", {"chunk_size": 128}),
    ("1P2D", "disaggregated", {}),
    ("2P1D", "disaggregated", {"chunk_size": 256}),
])


@settings(max_examples=12, deadline=None)
@given(RUNS, st.booleans(), st.integers(0, 999))
def test_agrees_with_the_slow_reading(run, tight, seed):
  split, kind, options = run
  _, log, world, workload = simulated(
      split, kind, tight=tight, seed=seed, **options
  )
  table = request_table(log)
  times = token_times_ns(log)
  gaps, longest = [], {}
  for row, id in enumerate(table["request"]):
    made = times[id]
    progress = world.progress[id]
    assert table["state"][row] == progress.state.value
    assert table["preemptions"][row] == progress.preemptions
    assert table["recomputed_tokens"][row] == progress.recomputed_tokens
    assert table["output_tokens"][row] == len(made)
    if progress.state.value != "finished":
      continue
    assert len(made) == workload.output_tokens[id]
    assert table["prefill_sampled_ns"][row] == made[0]
    assert table["e2el_ns"][row] == made[-1] - table["arrival_ns"][row]
    between = np.diff(made).tolist()
    gaps += between
    longest[row] = max(between, default=None)
    if between:
      assert table["first_decode_ns"][row] == made[1]
      assert table["itl_max_ns"][row] == longest[row]
      assert table["tpot_ns"][row] == (made[-1] - made[0]) / len(between)
  sample = table.sample("itl")
  assert np.repeat(sample.values, sample.count).tolist() == sorted(gaps)


@settings(max_examples=12, deadline=None)
@given(RUNS, st.booleans(), st.integers(0, 999))
def test_parts_sum_to_end_to_end_latency(run, tight, seed):
  split, kind, options = run
  _, log, _, _ = simulated(
      split, kind, tight=tight, seed=seed, **options
  )
  table = request_table(log)
  parts = np.ma.array([table[f"{part}_ns"] for part in PARTS])
  assert (parts.compressed() >= 0).all()
  assert parts.sum(axis=0).tolist() == table["e2el_ns"].tolist()
  if kind != "disaggregated":
    assert not table["transfer_ns"].any()
  else:
    moved = ~np.ma.getmaskarray(table["kv_landed_ns"])
    assert (table["transfer_ns"][moved & table.finished] > 0).all()


def test_every_column_is_documented(table):
  text = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
  parts = {f"{part}_ns" for part in PARTS}
  columns = {*table.columns, "workers"}
  assert not [n for n in columns - parts if f"`{n}`" not in text]
  assert not [n for n in parts if f"| `{n}` |" not in text]
