"""Law 9: every knob has an effect. Law 7: P and D are not swapped."""

import dataclasses
import random

import pytest

from pdjax.config import (
  HANDING_OVER,
  SLO,
  Cluster,
  Fault,
  Faults,
  LaneShares,
  Lengths,
  Link,
  Pool,
  TransferPlan,
  Workload,
)
from pdjax.events import Fail
from pdjax.metrics.requests import request_table
from pdjax.metrics.summary import summarize
from pdjax.workload.build import build
from tests.laws.cluster import load_of, run_config, serve_load


def busy_load():
  """Sixty requests, prompts of 20 to 140 tokens, close enough to queue.

  Each begins like a third of the others.
  """
  draw = random.Random(0)
  rows, at_us = [], 0
  for _ in range(60):
    at_us += draw.randint(0, 40_000)
    rows.append((at_us, draw.randint(20, 140), draw.randint(5, 40)))
  load = load_of(*rows)
  named = tuple(
      dataclasses.replace(
          request, prefix_ids=(request.id % 3,), prefix_block_tokens=16
      )
      for request in load.requests
  )
  return dataclasses.replace(load, requests=named)


def seen(run):
  """All that a reader of a run sees."""
  log, _ = serve_load(run, busy_load())
  anchor = run.strategy.first_token or "at_prefill"
  return summarize(request_table(log, anchor), run), list(log)


def set_field(run, path, value):
  section, name = path.split(".")
  part = dataclasses.replace(getattr(run, section), **{name: value})
  return dataclasses.replace(run, **{section: part})


COLOCATED = [
    ("continuous", "strategy.max_num_batched_tokens", 50),
    ("chunked", "strategy.chunk_size", 64),
    ("continuous", "strategy.max_num_seqs", 2),
    ("continuous", "strategy.kind", "chunked"),
    ("continuous", "strategy.kind", "static"),
    ("chunked", "strategy.kind", "vllm_v1"),
    ("vllm_v1", "strategy.chunk_size", 64),
    ("adaptive_chunk", "strategy.chunk_size", 64),
    ("continuous", "strategy.kind", "lanes"),
    ("lanes", "strategy.lanes", LaneShares(prefill_compute=0.4)),
    ("lanes", "strategy.lanes", LaneShares(prefill_bandwidth=0.5)),
    ("lanes", "strategy.chunk_size", 32),
    ("lanes", "strategy.max_num_batched_tokens", 50),
    ("continuous", "strategy.prefix_cache", True),
    ("continuous", "strategy.priority", "decode_first"),
    ("static", "strategy.max_num_batched_tokens", 50),
    ("static", "strategy.max_num_seqs", 2),
    ("static", "cluster.reserve_pages", 8),
    ("continuous", "strategy.router", "round_robin"),
    ("continuous", "strategy.router", "join_shortest_queue"),
    ("continuous", "cluster.split", "3C"),
    ("continuous", "cluster.kv_tokens", 256),
    ("continuous", "cluster.page_tokens", 16),
    ("continuous", "cluster.reserve_pages", 8),
    ("continuous", "cluster.chip", "h100-sxm"),
    ("continuous", "cluster.tp", 2),
    ("continuous", "cluster.pp", 2),
    ("continuous", "cluster.dp", 2),
    ("continuous", "cluster.microbatches", 2),
    ("continuous", "model.weight_dtype", "int8"),
    ("continuous", "model.product_dtype", "int8"),
    ("continuous", "model.kv_dtype", "fp8"),
    ("continuous", "model.preset", "llama-2-13b"),
    ("continuous", "backend.draw", 1),
    ("continuous", "engine.dispatch_ahead", 1),
    ("continuous", "slo.ttft_s", 0.01),
    ("continuous", "slo.tpot_s", 0.001),
    ("continuous", "slo.attainment", 0.1),
    ("continuous", "slo.slowdowns", (("ttft", "mean", "run", 3.0),)),
    ("continuous", "slo.unloaded_s", {"ttft": 1e-4}),
]
HANDED_OFF = [
    ("disaggregated", "strategy.first_token", "at_handoff"),
    ("disaggregated", "strategy.router", "round_robin"),
    ("disaggregated", "strategy.chunk_size", 16),
    ("disaggregated", "cluster.link", Link(bandwidth_bytes_per_s=1e9)),
    ("disaggregated", "cluster.link", Link(latency_s=0.05)),
    ("disaggregated", "cluster.tp", {"P": 1, "D": 2}),
    ("disaggregated", "cluster.split", "1P2D"),
    ("disaggregated", "strategy.kind", "conditional"),
    *(
        ("disaggregated", "strategy.transfer", TransferPlan(reserve_at=when))
        for when in ("prefill_start", "arrival")
    ),
    ("disaggregated", "strategy.transfer", TransferPlan(payload="int8")),
    ("disaggregated", "strategy.transfer", TransferPlan(direction="push")),
    ("disaggregated", "strategy.transfer", TransferPlan(staging_bytes=2**23)),
    *(
        ("disaggregated", "strategy.transfer",
         TransferPlan(granularity="layers", layers=layers))
        for layers in (16, 4)
    ),
    ("chunked prefill on P", "strategy.transfer",
     TransferPlan(granularity="chunk")),
    ("conditional", "strategy.local_prompt_tokens", 100),
    ("conditional", "strategy.chunk_size", 16),
]


BROKEN = Faults(
    drop_share=0.1, delay_share=0.1, corrupt_share=0.1, slow_share=0.1,
    delay_s=0.02, worker_up_s=1.0, worker_down_s=0.1, wait_s=0.05,
)
LOST = Fault(kind="worker_lost", worker=2, at_s=0.3)
CUT_OFF = (LOST, dataclasses.replace(LOST, worker=3))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("events", (LOST,)),
        ("events", CUT_OFF),
        ("events", (dataclasses.replace(LOST, down_s=0.1),)),
        ("events", (dataclasses.replace(LOST, worker=1),)),
        ("events", (dataclasses.replace(LOST, at_s=0.2),)),
        ("events", (Fault(kind="cancelled", request=3, state="decode"),)),
        ("events", (Fault(kind="deadline", request=3, state="prefill"),)),
        ("events", (Fault(kind="transfer_dropped", request=3),)),
        ("events", (Fault(kind="transfer_dropped", request=3, times=2),)),
        ("drop_share", 0.0), ("delay_share", 0.0), ("corrupt_share", 0.0),
        ("slow_share", 0.0), ("delay_s", 0.1), ("slow_factor", 50.0),
        ("worker_up_s", 2.0), ("worker_down_s", 0.2), ("seed", 1),
        ("recovery", "recompute"), ("recovery", "fail"), ("retries", 0),
        ("backoff_s", 0.0),
    ],
)
def test_a_knob_of_faults_changes_what_is_seen(name, value):
  run = run_config("disaggregated", "2P2D")
  run = dataclasses.replace(run, faults=BROKEN)
  changed = seen(set_field(run, f"faults.{name}", value))
  assert changed != seen(run)


def test_the_wait_for_a_lost_worker_is_read():
  run = run_config("disaggregated", "2P2D")
  ends = []
  for wait_s in (0.02, 0.5):
    hits = Faults(events=CUT_OFF, wait_s=wait_s)
    log, world = serve_load(
        dataclasses.replace(run, faults=hits), busy_load()
    )
    assert any(f"no D worker for {wait_s:g} s" == c.reason
               for c in log.of(Fail))
    ends.append(log.end_ps)
  assert ends[0] < ends[1]


def test_checksums_find_what_is_damaged():
  run = run_config("disaggregated", "2P2D")
  hit = (Fault(kind="transfer_corrupted", request=3),)
  run = dataclasses.replace(run, faults=Faults(events=hit))
  found = {}
  for verify in (False, True):
    plan = TransferPlan(verify=verify)
    summary, _ = seen(set_field(run, "strategy.transfer", plan))
    found[verify] = summary
  assert found[False]["undetected_corruptions"] == 1
  assert found[False]["failed_transfers"] == 0 and found[False]["doubtful"]
  assert any("damaged pages" in line for line in found[False]["flags"])
  assert found[True]["undetected_corruptions"] == 0
  assert found[True]["failed_transfers"] == 1
  assert "faults: 1 transfer corrupted" in found[True]["notes"]


@pytest.mark.parametrize(("kind", "path", "value"), COLOCATED + HANDED_OFF)
def test_a_knob_changes_what_is_seen(kind, path, value):
  apart = kind in HANDING_OVER or "P" in kind
  split = "2P2D" if apart else "2C"
  run = run_config(kind, split)
  run = dataclasses.replace(run, slo=SLO(
      ttft_s=0.04, tpot_s=0.5, slowdowns=(("ttft", "max", "run", 2.0),),
      unloaded_s={"ttft": 1.0},
  ))
  turned = set_field(run, path, value)
  if value == "chunked":
    turned = set_field(turned, "strategy.chunk_size", 32)
  assert seen(run) != seen(turned), f"{path}={value} changes nothing"


@pytest.mark.parametrize(
    ("name", "value"), [("host_kv_tokens", 16), ("host_bytes_per_s", 1e9)]
)
def test_host_memory_changes_what_is_seen(name, value):
  run = run_config("continuous", prefix_cache=True, kv_tokens=256)
  run = set_field(run, "cluster.host_kv_tokens", 4096)
  turned = set_field(run, f"cluster.{name}", value)
  assert seen(run) != seen(turned)
  without = set_field(run, "cluster.host_kv_tokens", None)
  assert seen(run) != seen(without)


def test_a_router_may_ask_the_caches():
  run = set_field(run_config("continuous", "2C"), "strategy.prefix_cache", True)
  aware = set_field(run, "strategy.router", "prefix_aware")
  assert seen(run) != seen(aware)


def test_a_cached_prefix_may_keep_a_prompt_on_its_decode_worker():
  run = run_config("conditional", prefix_cache=True, local_prompt_tokens=10)
  assert seen(run) != seen(set_field(run, "strategy.local_prefix_share", 0.1))


def test_dealing_experts_out_changes_what_is_seen():
  run = set_field(run_config("continuous"), "model.preset", "mixtral-8x7b")
  run = set_field(run, "cluster.tp", 4)
  assert seen(run) != seen(set_field(run, "cluster.ep", 4))


def test_a_chip_of_ones_own_is_read():
  own = {"mine": {"like": "a100-80gb-sxm", "hbm_bytes_per_s": 4e12}}
  run = run_config("continuous")
  mine = set_field(set_field(run, "cluster.chips", own), "cluster.chip", "mine")
  assert seen(run) != seen(mine)


def test_utilization_sizes_the_pool():
  run = set_field(run_config("continuous"), "cluster.kv_tokens", None)
  from pdjax.simulate.cluster import cluster_of

  more = cluster_of(run).pool_pages[0]
  frugal = set_field(run, "cluster.hbm_utilization", 0.7)
  assert cluster_of(frugal).pool_pages[0] < more


BASE = Workload(num_requests=50, rate=5.0)
WORKLOAD = [
    ("seed", 1),
    ("num_requests", 51),
    ("rate", 6.0),
    ("arrival", "constant"),
    ("arrival", "all_at_once"),
    ("prompt", Lengths(mean=100)),
    ("prompt", Lengths(kind="lognormal", mean=512)),
    ("output", Lengths(mean=100)),
    ("output", Lengths(kind="empirical", values=(3, 400))),
    ("max_tokens", 64),
    ("deadline_s", 2.0),
    ("lengths", "humaneval"),
    ("turns", Lengths(mean=3)),
    ("turns", Lengths(kind="empirical", values=(1, 5))),
]
TRACE = [
    ("skip_requests", 5),
    ("time_scale", 2.0),
    ("length_scale", 0.5),
    ("max_prompt_tokens", 200),
    ("max_output_tokens", 50),
    ("num_requests", 20),
    ("kind", "mooncake"),
]


@pytest.mark.parametrize(("name", "value"), WORKLOAD)
def test_a_workload_knob_changes_the_requests(name, value):
  changed = dataclasses.replace(BASE, **{name: value})
  if value == "all_at_once":
    changed = dataclasses.replace(changed, rate=None)
  assert build(changed).requests != build(BASE).requests or (
      build(changed).output_tokens != build(BASE).output_tokens
  )


LOOP = Workload(arrival="semi_open", rate=4.0)
WINDOW = Workload(protocol="steady", rate=4.0)


@pytest.mark.parametrize(
    ("base", "name", "value"),
    [
        (LOOP, "think_time_s", 1.0),
        (LOOP, "stay_probability", 0.9),
        (dataclasses.replace(LOOP, arrival="closed", concurrency=2),
         "concurrency", 3),
        (dataclasses.replace(BASE, turns=Lengths(mean=3)), "think_time_s", 1.0),
        (WINDOW, "duration_s", 30.0),
        (WINDOW, "warmup_s", 1.0),
    ],
)
def test_knobs_of_loops_and_windows(base, name, value):
  ours, theirs = build(base), build(dataclasses.replace(base, **{name: value}))
  assert (ours.behaviour, ours.window) != (theirs.behaviour, theirs.window)


@pytest.mark.parametrize(
    ("name", "value"), [("cancel_fraction", 0.6), ("cancel_after_s", 20.0)]
)
def test_a_knob_of_clients_changes_when_they_give_up(name, value):
  base = dataclasses.replace(BASE, cancel_fraction=0.3)
  changed = build(dataclasses.replace(base, **{name: value}))
  assert changed.cancel_after_ps != build(base).cancel_after_ps


@pytest.mark.parametrize(("name", "value"), TRACE)
def test_a_trace_knob_changes_the_requests(name, value):
  base = Workload(kind="azure", num_requests=30)
  changed = dataclasses.replace(base, **{name: value})
  assert build(changed).requests != build(base).requests


def asymmetric(prefill: int, decode: int):
  """A prefill-heavy case: long prompts, few tokens."""
  run = run_config("disaggregated", f"{prefill}P{decode}D", kv_tokens=2000)
  load = load_of(*((i * 4000, 140, 3) for i in range(40)))
  log, _ = serve_load(run, load)
  return float(request_table(log).sample("ttft").mean())


def test_prefill_heavy_load_wants_more_prefill_workers():
  assert asymmetric(3, 1) < 0.7 * asymmetric(1, 3)


def test_each_pool_has_its_own_settings():
  def run_with(prefill: Pool, decode: Pool):
    run = run_config("disaggregated")
    cluster = Cluster(
        pools=(prefill, decode), kv_tokens=2000, page_tokens=8,
        chip="a100-80gb-sxm",
    )
    return dataclasses.replace(run, cluster=cluster)

  def tp_of_steps(run):
    from pdjax.simulate.cluster import cluster_of

    return [cost.layout.tp for cost in cluster_of(run).costs]

  first = run_with(Pool(role="P", count=1, tp=2), Pool(role="D", count=2))
  second = run_with(Pool(role="P", count=1), Pool(role="D", count=2, tp=2))
  assert tp_of_steps(first) == [2, 1, 1]
  assert tp_of_steps(second) == [1, 2, 2]
  ttft = [seen(run)[0]["mean_ttft_ms"] for run in (first, second)]
  tpot = [seen(run)[0]["mean_tpot_ms"] for run in (first, second)]
  assert ttft[0] < ttft[1] and tpot[0] > tpot[1]
