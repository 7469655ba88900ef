"""Pages that a cache had no room for come back from host memory."""

import dataclasses

import pytest

from pdjax.events import Reserve
from pdjax.metrics.requests import table_of
from pdjax.metrics.summary import summarize
from pdjax.schedule.replay import replay
from pdjax.simulate.cluster import cluster_of
from pdjax.simulate.stepcosts import policy_for
from tests.laws.cluster import (
  load_of,
  run_config,
  serve_load,
  world_for,
)
from tests.laws.test_sessions import conversing

SLOW, FAST = 1e9, 1e10


def interrupted():
  """A turn of 64 and 16 tokens; then a stranger of 150; then its next turn."""
  load = load_of((0, 64, 17), (0, 20, 5), (10**5, 150, 10))
  load = conversing(load, [2, 1], [10**12, 0, 0])
  return load


def served(
    kind: str = "chunked", host_kv_tokens: int | None = 512,
    rate: float = FAST, **settings
):
  """The pool of each worker has 22 pages of 8 tokens."""
  run = run_config(kind, kv_tokens=176, prefix_cache=True, **settings)
  run = dataclasses.replace(run, cluster=dataclasses.replace(
      run.cluster, host_kv_tokens=host_kv_tokens, host_bytes_per_s=rate
  ))
  log, _ = serve_load(run, interrupted())
  table = table_of(log, run)
  return run, log, table, summarize(table, run)


def test_what_was_evicted_comes_back():
  _, _, without, _ = served(host_kv_tokens=None)
  _, log, table, summary = served()
  # 64 + 17 - 1 tokens were read, ten pages; the stranger takes 20 of 22.
  assert without["reused_tokens"].tolist() == [0, 16, 0]
  assert table["reused_tokens"].tolist() == [0, 80, 0]
  assert table["host_tokens"].tolist() == [0, 64, 0]
  assert [r.host_tokens for r in log.of(Reserve)] == [0, 0, 64]
  assert summary["host_hit_share"] == 64 / 80
  assert table["prefilled_tokens"][1] == without["prefilled_tokens"][1] - 64


def test_coming_back_takes_the_time_of_its_bytes():
  run, _, slow, _ = served(rate=SLOW)
  _, _, fast, _ = served(rate=FAST)
  size_bytes = cluster_of(run).costs[0].transfer_bytes(64)
  more_ns = slow["ttft_ns"][1] - fast["ttft_ns"][1]
  expected_ns = size_bytes * (1 / SLOW - 1 / FAST) * 1e9
  assert more_ns == pytest.approx(expected_ns, abs=2)
  assert slow["ttft_ns"][[0, 2]].tolist() == fast["ttft_ns"][[0, 2]].tolist()


def test_host_memory_is_limited_too():
  _, _, table, _ = served(host_kv_tokens=24)
  assert 0 <= table["host_tokens"][1] <= 24


def test_a_decode_worker_has_host_memory_of_its_own():
  _, log, table, summary = served("disaggregated")
  there = [r for r in log.of(Reserve) if r.worker == 1 and r.host_tokens]
  assert there and there[0].spared_tokens == 80
  assert table["spared_tokens"].tolist() == [0, 80, 0]
  _, _, _, without = served("disaggregated", host_kv_tokens=None)
  assert summary["transferred_bytes"] < without["transferred_bytes"]


@pytest.mark.parametrize("kind", ["vllm_v1", "disaggregated", "elastic"])
def test_every_command_comes_again(kind):
  run, log, _, _ = served(kind)
  again = replay(log, policy_for(run), world_for(run))
  assert again.identical == again.commands and not again.difference


def test_a_decode_worker_counts_what_its_host_memory_has():
  """21 of 101 tokens are left to compute, without it more than 30."""
  local = {"local_prompt_tokens": 30}
  _, _, with_host, _ = served("conditional", **local)
  _, _, without, _ = served("conditional", host_kv_tokens=None, **local)
  assert with_host.workers[1] == (1,) and without.workers[1][0] == 0
