"""Attribution by hand on one log, and its sums on simulated ones."""

import numpy as np
import pytest

from pdjax.metrics.attribution import by_worker, figures
from pdjax.metrics.requests import request_table, table_of
from pdjax.metrics.summary import summarize
from pdjax.metrics.waits import WAITS
from pdjax.metrics.workertime import STATES
from tests.metrics import tiny
from tests.metrics.scripted import hand_made, simulated

CASES = {
    "colocated": ("2C", "continuous", {}),
    "chunked": ("2C", "chunked", {"chunk_size": 64}),
    "split": ("1P2D", "disaggregated", {}),
    "tight": ("2C", "continuous", {"tight": True}),
    "tight split": ("1P1D", "disaggregated", {"tight": True}),
    "few seats": ("1P1D", "disaggregated", {"max_num_seqs": 3}),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
  split, kind, more = CASES[request.param]
  run, log, _, _ = simulated(split, kind, **more)
  return request.param, run, table_of(log, run)


def test_by_hand():
  """The log of `scripted.hand_made`, whose span is 0 to 21 us."""
  found = request_table(hand_made()).attribution
  ns = {state: each.tolist() for state, each in found.time.state_ns.items()}
  assert found.time.span_ns == 21_000
  # Worker 0: 2..5. Worker 1: 9..11.5. Worker 2: 1..3 4..6 7..8 13..16 18..20.
  assert ns["compute"] == [3000, 2500, 10_000]
  assert ns["kv_in_flight"] == [0, 2000, 0]
  assert ns["blocked"] == [0, 0, 0]
  assert ns["no_work"] == [18_000, 16_500, 11_000]
  assert found.time.egress_ns.tolist() == [2000, 0, 0]
  assert found.time.ingress_ns.tolist() == [0, 2000, 0]
  assert (found.transfers, found.moved_bytes) == (1, 4096)
  assert found.staging_peak_bytes == found.twice_held_peak_bytes == 4096


def test_states_of_a_worker_sum_to_the_span(case):
  _, run, table = case
  time = table.attribution.time
  total_ns = sum(time.state_ns.values())
  assert total_ns.tolist() == [time.span_ns] * time.workers
  assert all((each >= 0).all() for each in time.state_ns.values())
  for row in by_worker(table.attribution)["workers"]:
    shares = [row[f"{state}_share"] for state in STATES]
    assert sum(shares) == pytest.approx(1, abs=1e-12)


def test_waits_partition_the_queues(case):
  _, _, table = case
  prefill = sum(table[f"p_{name}_ns"] for name in ("queue", "memory", "slots"))
  decode = sum(table[f"d_{name}_ns"] for name in ("queue", "memory", "slots"))
  assert (prefill == table["queue_prefill_ns"]).all()
  waited_ns = table["transfer_wait_ns"] + table["queue_decode_ns"]
  assert (decode == waited_ns).all()
  for name in (*(f"{name}_ns" for name in WAITS), "interference_ns"):
    assert table[name].min() >= 0


def test_prompt_tokens_are_all_accounted_for(case):
  _, run, table = case
  row = summarize(table, run)
  useful = row["total_input_tokens"]
  lost = row["recomputed_prefill_tokens"] + row["wasted_prefill_tokens"]
  assert row["prefill_tokens"] == useful + lost
  assert (lost > 0) == (row["preemptions"] > 0)


def test_who_lacks_what(case):
  name, run, table = case
  row = summarize(table, run)
  waited = {wait for wait in WAITS if row[f"{wait}_requests"]}
  memory = {
      "tight": {"p_memory"}, "tight split": {"d_memory"},
      "few seats": {"d_slots", "p_slots"},
  }
  assert memory.get(name, set()) <= waited
  for wait in ("p_memory", "d_memory"):
    assert (wait in waited) <= name.startswith("tight"), wait


def test_prompts_disturb_only_decodes_beside_them(case):
  name, _, table = case
  disturbed = float(table["interference_ns"].sum())
  # A split preempts on D and recomputes there; otherwise D has no prompts.
  assert (disturbed > 0) == (name not in ("split", "few seats"))
  assert (table["interference_ns"] <= table["decode_ns"]).all()


def test_interference_is_what_the_prompts_took():
  """Alone on a worker, a request loses exactly the steps of a second one."""
  run, log, table = tiny.served(num_requests=2)
  first, second = range(2)
  if table["first_token_ns"][second] > table["ended_ns"][first]:
    pytest.skip("they do not overlap")
  begins = table["arrival_ns"][second] + table["queue_prefill_ns"][second]
  took = table["prefill_sampled_ns"][second] - begins
  assert table["interference_ns"].tolist() == [took, 0]


def test_a_window_bounds_the_span():
  run, _, table = tiny.served(**tiny.STEADY)
  time = table.attribution.time
  assert time.span_ns == 0.3e9
  assert sum(each[0] for each in time.state_ns.values()) == time.span_ns


def test_links_are_busy_only_where_pages_move(case):
  name, run, table = case
  row = figures(table.attribution)
  moves = "split" in name or name == "few seats"
  assert (row["link_busy_share"] > 0) == moves
  assert (row["staging_peak_bytes"] > 0) == moves
  assert row["kv_twice_held_peak_bytes"] >= row["staging_peak_bytes"]
  assert row["link_busy_share"] <= 1
  moved = np.ma.filled(table["kv_landed_ns"], -1) >= 0
  assert row["transfers"] == moved.sum()
