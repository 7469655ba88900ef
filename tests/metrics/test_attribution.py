"""Attribution by hand on one log, and its sums on simulated ones."""

import numpy as np
import pytest

from pdjax import events as ev
from pdjax.metrics.attribution import by_worker, figures
from pdjax.metrics.requests import request_table, table_of
from pdjax.metrics.summary import summarize
from pdjax.metrics.waits import WAITS
from pdjax.metrics.workertime import STATES
from pdjax.request import Request
from pdjax.segments import Segment
from tests.metrics import tiny
from tests.metrics.scripted import US, hand_made, simulated

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
  assert ns["blocked"] == ns["lost"] == [0, 0, 0]
  assert ns["no_work"] == [18_000, 16_500, 11_000]
  assert found.time.egress_ns.tolist() == [2000, 0, 0]
  assert found.time.ingress_ns.tolist() == [0, 2000, 0]
  assert (found.transfers, found.moved_bytes) == (1, 4096)
  assert found.staging_peak_bytes == found.twice_held_peak_bytes == 4096


def test_states_of_a_worker_sum_to_the_span(case):
  _, run, table = case
  time = table.attribution.time
  total_ns = np.sum(list(time.state_ns.values()), axis=0)
  assert total_ns.tolist() == [time.span_ns] * time.workers
  assert all((each >= 0).all() for each in time.state_ns.values())
  for row in by_worker(table.attribution)["workers"]:
    shares = [row[f"{state}_share"] for state in STATES]
    assert sum(shares) == pytest.approx(1, abs=1e-12)


P_WAITS = ("queue", "memory", "slots", "place")


def test_waits_partition_the_queues(case):
  _, _, table = case
  prefill = sum(table[f"p_{name}_ns"] for name in P_WAITS)
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


# By hand: who is blocked on what, and what prompts cost. ----------------------


def arrived(id: int, most: int) -> ev.Arrived:
  return ev.Arrived(0, Request(
      id=id, arrival_ps=0, prompt_tokens=4, max_tokens=most
  ))


def ended(worker, run, start_us, each_us, steps=1, finished=()):
  """A run of `steps` steps of `each_us`."""
  return ev.StepEnded(
      int((start_us + steps * each_us) * US), worker, 0, run, start_us * US,
      steps, (Segment(steps, int(each_us * US)),), finished,
  )


def log_of(*entries: tuple[float, ev.Entry]) -> ev.Log:
  log = ev.Log()
  for at_us, entry in entries:
    log.append(round(at_us * US), entry)
  return log


BLOCKED = (
    (0, arrived(0, 9)), (0, arrived(1, 9)), (0, arrived(2, 1)),
    (0, ev.Step(0, ((0, 4),), run=0)),
    (1, ev.Blocked(1, 0, "pages")),
    (2, ev.Blocked(2, 0, "seqs")),
    (3, ended(0, 0, 0, 3)),
    (3, ev.Blocked(0, 1, "pages")),
    (4, ev.Unblocked(1)),
    (4, ev.Step(0, ((1, 4),), run=1)),
    (5, ev.Unblocked(0)),
    (5, ev.Transfer(0, 0, 1, (0, 1), transfer=0)),
    (6, ended(0, 1, 4, 2)),
    (6, ev.Blocked(1, 1, "pages")),
    (6, ev.Unblocked(2)),
    (6, ev.Step(0, ((2, 4),), run=2)),
    (7, ev.TransferEnded(7 * US, 0, 0, moved_bytes=64)),
    (7, ev.Step(1, decode=(0,), repeats=2, run=3)),
    (8, ended(0, 2, 6, 2, finished=((2, 1),))),
    (9, ev.Unblocked(1)),
    (9, ev.Transfer(1, 0, 1, (0, 1), transfer=1)),
    (10, ended(1, 3, 7, 1.5, 2, ((0, 2),))),
    (11, ev.TransferEnded(11 * US, 1, 1, moved_bytes=64)),
    (11, ev.Step(1, decode=(1,), run=4)),
    (12, ended(1, 4, 11, 1, finished=((1, 1),))),
)
"""Two requests wait for worker 0, one for pages from 1 to 4, one for a place
from 2 to 6; both transfers to worker 1 wait for pages, the second while the
first is in flight."""


def test_waits_by_hand():
  table = request_table(log_of(*BLOCKED))
  us = {
      name: (table[f"{name}_ns"] / 1000).tolist() for name in WAITS
  }
  assert us == {
      # Who lacks a place lacks it from 4 on: until then the head lacks pages.
      "p_queue": [0, 1, 1], "p_memory": [0, 3, 3], "p_slots": [0, 0, 2],
      "p_place": [0, 0, 0],
      "d_queue": [0, 0, 0], "d_memory": [2, 3, 0], "d_slots": [0, 0, 0],
  }


def test_workers_by_hand():
  time = request_table(log_of(*BLOCKED)).attribution.time
  us = {state: (ns / 1000).tolist() for state, ns in time.state_ns.items()}
  # Worker 1 computes 7..10 and 11..12, has pages in flight to it 5..7 and
  # 9..11, and a request blocked on it 3..5 and 6..9.
  assert us == {
      "compute": [7, 4], "kv_in_flight": [0, 3], "blocked": [1, 2],
      "no_work": [4, 3], "lost": [0, 0],
  }


def test_interference_by_hand():
  """Request 0 decodes on worker 0: alone 1 us a step, then beside a chunk in
  3 us, then after a prompt of 4 us. Then it decodes on worker 1, where a
  prompt ran before: that is no loss of its own."""
  table = request_table(log_of(
      (0, arrived(0, 9)), (0, arrived(1, 1)), (0, arrived(2, 1)),
      (0, arrived(3, 1)),
      (0, ev.Step(0, ((0, 4),), run=0)),
      (0, ev.Step(1, ((3, 4),), run=1)),
      (1, ended(0, 0, 0, 1)),
      (1, ev.Step(0, decode=(0,), repeats=2, run=2)),
      (3, ended(0, 2, 1, 1, 2)),
      (3, ev.Step(0, ((1, 4),), (0,), run=3)),
      (6, ended(0, 3, 3, 3, finished=((1, 1),))),
      (6, ev.Step(0, ((2, 4),), run=4)),
      (10, ended(0, 4, 6, 4, finished=((2, 1),))),
      (10, ev.Step(0, decode=(0,), run=5)),
      (11, ended(0, 5, 10, 1)),
      (19, ended(1, 1, 0, 19, finished=((3, 1),))),
      (19, ev.Step(1, decode=(0,), run=6)),
      (20, ended(1, 6, 19, 1, finished=((0, 1),))),
  ))
  assert table["interference_ns"].tolist() == [2000 + 4000, 0, 0, 0]
