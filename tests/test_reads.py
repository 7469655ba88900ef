"""Fields said in vain are found; what is unsaid gets its meaning."""

import dataclasses

import pytest

from pdjax import reads, schema
from pdjax.config import TransferPlan
from pdjax.workload.build import build


def vain(tree):
  run = schema.run_from_tree(tree)
  return set(reads.vain(run, schema.said(tree)))


@pytest.mark.parametrize(
    ("strategy", "unread"),
    [
        ({"kind": "continuous", "chunk_size": 64}, {"strategy.chunk_size"}),
        ({"kind": "chunked", "chunk_size": 64}, set()),
        ({"kind": "disaggregated", "chunk_size": 64}, set()),
        ({"kind": "mine:Rule", "chunk_size": 64, "options": {"a": 1}}, set()),
        ({"kind": "static", "chunk_size": 64}, {"strategy.chunk_size"}),
        ({"kind": "static", "max_num_batched_tokens": 64}, set()),
        ({"kind": "static", "priority": "decode_first"}, {"strategy.priority"}),
        ({"kind": "mine:Rule", "priority": "prefill_first"},
         {"strategy.priority"}),
        ({"kind": "continuous", "priority": "decode_first"}, set()),
        ({"kind": "chunked", "options": {"a": 1}}, {"strategy.options.a"}),
        ({"kind": "chunked", "max_num_batched_tokens": 9},
         {"strategy.max_num_batched_tokens"}),
        ({"kind": "chunked", "first_token": "at_handoff"},
         {"strategy.first_token"}),
        ({"kind": "continuous", "transfer": {"granularity": "request"}},
         {"strategy.transfer.granularity"}),
        ({"kind": "disaggregated", "transfer": {"granularity": "request"}},
         set()),
    ],
)
def test_what_a_strategy_reads(strategy, unread):
  assert vain({"strategy": strategy}) == unread


def test_what_a_backend_reads():
  both = {
      "cluster": {"chip": "x", "host_devices": 2},
      "engine": {"dispatch_ahead": 1, "verify_tokens": 2},
  }
  assert vain(both) == {"cluster.host_devices", "engine.verify_tokens"}
  assert vain(both | {"backend": {"kind": "jax"}}) == {"cluster.chip"}


@pytest.mark.parametrize(
    ("strategy", "unread"),
    [({"kind": "chunked"}, set()), ({"kind": "lanes"}, {"backend.padding"}),
     ({"kind": "mine:Rule"}, set()),
     ({"kind": "mine:Rule", "lanes": {"prefill_compute": 0.5}},
      {"backend.padding"})],
)
def test_padded_passes_have_no_lanes(strategy, unread):
  padded = {"backend": {"padding": "engine"}}
  assert vain({"strategy": strategy} | padded) == unread


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        ({"backend": {"kind": "jax"}}, "jax backend"),
        ({"backend": {"costs": "mine.json"}}, "calibration"),
        ({"strategy": {"kind": "lanes"}}, "has no lanes"),
        ({"strategy": {"kind": "adaptive_chunk"}}, "adaptive_chunk weighs"),
    ],
)
def test_the_reason_told_is_the_one_that_holds(tree, reason):
  tree = {**tree, "backend": {"padding": "engine", **tree.get("backend", {})}}
  run = schema.run_from_tree(tree)
  told = reads.vain(run, ["backend.padding"])["backend.padding"]
  others = {"jax backend", "calibration", "has no lanes", "weighs"} - {reason}
  assert reason in told
  assert not [other for other in others if other in told.replace(reason, "")]


@pytest.mark.parametrize(
    ("shared", "value"),
    [("cluster.chip", "a10"), ("cluster.kv_tokens", 640),
     ("strategy.chunk_size", 64), ("strategy.max_num_seqs", 8)],
)
def test_what_stands_for_pools_is_read_where_one_says_nothing(shared, value):
  section, name = shared.split(".")
  told = {"role": "C", "count": 1, name: value}
  plain = {"role": "C", "count": 1}

  def tree(*pools):
    made = {"strategy": {"kind": "chunked"}, "cluster": {"pools": pools}}
    made[section] = {**made[section], name: value}
    return made

  assert vain(tree(told, plain)) == set()
  assert vain(tree(told, told)) == {shared}


def test_a_chip_of_ones_own_is_read_by_the_workers_on_it():
  chips = {"a": {"bf16_flops": 1e15}, "b": {"bf16_flops": 1e15}, "c.d": {}}
  one = {"cluster": {"chip": "a", "chips": chips}}
  assert vain(one) == {"cluster.chips.b.bf16_flops"}
  pool = {"role": "C", "count": 1, "chip": "b"}
  plain = {"role": "C", "count": 1}
  both = {"cluster": {"chip": "a", "chips": chips, "pools": (pool, plain)}}
  assert vain(both) == set()
  alone = {"cluster": {"chip": "a", "chips": chips, "pools": (pool,)}}
  assert vain(alone) == {"cluster.chip", "cluster.chips.a.bf16_flops"}
  assert reads.unit("cluster.chips.a.bf16_flops") == "cluster.chips.a"
  assert reads.unit("cluster.link.latency_s") == "cluster.link.latency_s"


def test_what_sampling_reads():
  cuts = {"top_k": 3, "top_p": 0.9, "min_p": 0.1, "seed": 4}
  measured = {"backend": {"kind": "jax"}}
  warm = measured | {"sampling": cuts | {"temperature": 0.5}}
  assert vain(warm) == set()
  assert vain(measured | {"sampling": cuts}) == {
      f"sampling.{name}" for name in cuts
  }
  stops = {"sampling": {"stop_ids": (2,), "stop": ("x",)}}
  assert vain(measured | stops) == {"sampling.stop_ids", "sampling.stop"}
  assert vain(measured | stops | {"workload": {"stop": "eos"}}) == set()


def test_what_a_workload_reads():
  assert vain({"workload": {"kind": "azure", "rate": 2.0}}) == set()
  assert vain({"workload": {"rate": 2.0, "arrival": "all_at_once"}}) == {
      "workload.rate"
  }
  assert vain(
      {"workload": {"kind": "azure", "rate": 2.0, "arrival": "poisson"}}
  ) == set()
  assert vain({"workload": {"path": "x", "arrival_cv": 2.0}}) == {
      "workload.path", "workload.arrival_cv",
  }
  assert vain({"workload": {"prompt": {"cv": 2.0, "mean": 9}}}) == {
      "workload.prompt.cv"
  }


def test_who_has_host_memory():
  host = {"cluster": {"host_kv_tokens": 99, "host_bytes_per_s": 1e10}}
  cached = {"strategy": {"prefix_cache": True}}
  both = {"cluster.host_kv_tokens", "cluster.host_bytes_per_s"}
  assert vain(host | cached) == set()
  assert vain(host) == both
  real = {"backend": {"kind": "jax"}}
  assert vain(host | cached | real) == {"cluster.host_bytes_per_s"}
  rate = {"cluster": {"host_bytes_per_s": 1e10}}
  assert vain(rate | cached) == {"cluster.host_bytes_per_s"}


def test_who_has_conversations():
  turns = {"turns": {"mean": 3}, "think_time_s": 1.0}
  assert vain({"workload": {"rate": 2.0, **turns}}) == set()
  for other in (
      {"kind": "azure"}, {"arrival": "closed"}, {"arrival": "semi_open"}
  ):
    assert "workload.turns.mean" in vain({"workload": {**other, **turns}})
  assert vain({"workload": {"think_time_s": 1.0}}) == {"workload.think_time_s"}
  empirical = {"kind": "empirical", "values": (2, 3), "mean": 4}
  assert vain({"workload": {"turns": empirical}}) == {"workload.turns.mean"}


@pytest.mark.parametrize(
    ("workload", "drawn"),
    [
        ({"kind": "azure"}, False),
        ({"kind": "azure", "arrival": "constant", "rate": 2.0}, False),
        ({"kind": "azure", "arrival": "closed"}, False),
        ({"kind": "azure", "arrival": "closed", "think_time_s": 1.0}, True),
        ({"kind": "azure", "arrival": "poisson", "rate": 2.0}, True),
        ({"kind": "azure", "jitter_s": 0.5}, True),
        ({"kind": "azure", "cancel_fraction": 0.1}, True),
        ({"arrival": "all_at_once", "prompt": {"kind": "lognormal"}}, True),
        ({"arrival": "all_at_once", "lengths": "humaneval"}, True),
        ({"arrival": "all_at_once"}, False),
        ({"arrival": "all_at_once", "turns": {"mean": 3}}, False),
        ({"arrival": "all_at_once", "turns": {"mean": 3},
          "think_time_s": 1.0}, True),
        ({"arrival": "all_at_once",
          "turns": {"kind": "empirical", "values": (1, 2)}}, True),
    ],
)
def test_a_seed_is_read_where_something_is_drawn(workload, drawn):
  asked = {"prompt": {"kind": "fixed"}, "output": {"kind": "fixed"}}
  if "kind" in workload or "lengths" in workload:
    asked = {}
  tree = {"workload": {**asked, **workload, "num_requests": 9, "seed": 1}}
  assert ("workload.seed" in vain(tree)) != drawn
  one, two = (
      build(dataclasses.replace(
          schema.run_from_tree(tree).workload, seed=seed,
          concurrency=2 if workload.get("arrival") == "closed" else None,
      ))
      for seed in (0, 1)
  )
  assert (
      (one.requests, one.output_tokens, one.cancel_after_ps, one.behaviour)
      != (two.requests, two.output_tokens, two.cancel_after_ps, two.behaviour)
  ) == drawn
  assert "workload.seed" not in vain(tree | {"backend": {"kind": "jax"}})


def test_pools_make_their_shorthands_vain():
  pools = ({"role": "C", "count": 1, "chunk_size": 8},)
  assert vain({"cluster": {"pools": pools, "tp": 2}}) == {
      "cluster.tp", "cluster.pools.chunk_size",
  }


def test_none_is_nothing_said():
  assert vain({"strategy": {"kind": "continuous", "chunk_size": None}}) == set()


def test_resolved_fills_in_by_strategy():
  def strategy(tree):
    return reads.resolved(schema.run_from_tree(tree)).strategy

  assert strategy({"strategy": {"kind": "chunked"}}).chunk_size == 512
  assert strategy({}).chunk_size is None
  assert strategy({}).max_num_batched_tokens == 8192
  split = strategy(
      {"strategy": {"kind": "disaggregated"}, "cluster": {"split": "1P1D"}}
  )
  assert split.first_token == "at_prefill"
  assert split.transfer == TransferPlan(reserve_at="prefill_end")
  tree = {
      "strategy": {
          "kind": "disaggregated", "transfer": {"granularity": "chunk"},
      },
      "cluster": {"split": "1P1D"},
  }
  assert strategy(tree).transfer.reserve_at == "prefill_start"


def test_resolved_is_settled():
  run = reads.resolved(schema.run_from_tree({}))
  assert reads.resolved(run) == run
  assert (run.workload.arrival, run.workload.num_requests) == ("poisson", 100)
