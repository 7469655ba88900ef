"""Which runs may be compared, and what is only their design."""

import dataclasses
import json

from pdjax import config
from pdjax.metrics.conditions import comparable, conditions, flips, split_of
from pdjax.metrics.requests import request_table
from pdjax.metrics.summary import summarize
from tests.metrics.scripted import hand_made

WORKLOAD = {"content_sha256": "ab", "kind": "synthetic", "stop": "eos"}
COLOCATED = config.Run(
    cluster=config.Cluster(split="2C", chip="h100-sxm"),
    slo=config.SLO(ttft_s=0.4),
)
SPLIT = dataclasses.replace(
    COLOCATED,
    cluster=config.Cluster(split="1P1D", chip="h100-sxm"),
    strategy=config.Strategy(kind="disaggregated", first_token="at_handoff"),
)


def test_strategies_may_differ_in_design():
  ours, theirs = conditions(COLOCATED, WORKLOAD), conditions(SPLIT, WORKLOAD)
  assert comparable(ours, theirs) == []
  assert ours["design"] != theirs["design"]
  assert theirs["design"]["split"] == split_of(SPLIT) == "1P1D"
  assert json.loads(json.dumps(ours)) == ours


def test_each_contract_field_is_noticed():
  ours = conditions(COLOCATED, WORKLOAD)
  larger = config.Cluster(split="3C", chip="a100-80g")
  others = {
      "backend": {"backend": config.Backend(kind="jax")},
      "model": {"model": config.Model(preset="other")},
      "dtype": {"model": config.Model(dtype="float32")},
      "slo": {"slo": config.SLO(ttft_s=0.5)},
      "chips": {"cluster": larger},
      "chip": {"cluster": larger},
      "sampling": {"sampling": config.Sampling(seed=1)},
  }
  for field, change in others.items():
    run = dataclasses.replace(COLOCATED, **change)
    assert field in comparable(ours, conditions(run, WORKLOAD))
  for change in ({"content_sha256": "cd"}, {"stop": "forced_length"}):
    (field,) = comparable(ours, conditions(COLOCATED, WORKLOAD | change))
    assert field in change
  profiled = conditions(COLOCATED, WORKLOAD, cost_profile="fitted")
  assert comparable(ours, profiled) == ["cost_profile"]


def test_rules_of_strategies_are_in_the_design():
  stated = []
  for share in (0.6, 0.7):
    lanes = config.LaneShares(prefill_compute=share)
    run = dataclasses.replace(
        COLOCATED, strategy=config.Strategy(kind="lanes", lanes=lanes)
    )
    stated.append(conditions(run, WORKLOAD)["design"]["lanes"])
  assert [each["prefill_compute"] for each in stated] == [0.6, 0.7]
  limits = config.Strategy(
      kind="conditional", local_prompt_tokens=9, elastic=config.RoleChange()
  )
  run = dataclasses.replace(COLOCATED, strategy=limits)
  design = conditions(run, WORKLOAD)["design"]
  assert design["local_prompt_tokens"] == 9
  assert design["elastic"]["window_s"] == 5.0


def test_resolved_values_are_in_the_design():
  workers = [
      {"pool_pages": pages, "kv_tokens": 16 * pages, "link_bytes_per_s": 450e9}
      for pages in (100, 200)
  ]
  design = conditions(SPLIT, WORKLOAD, workers=workers)["design"]
  assert [pool["pool_pages"] for pool in design["pools"]] == [100, 200]
  assert [pool["kv_tokens"] for pool in design["pools"]] == [1600, 3200]
  assert design["pools"][1]["link_bytes_per_s"] == 450e9
  assert design["max_num_batched_tokens"] == 8192


def test_weights_count_by_content_and_are_named():
  file = {"file": "a.Q4_1.gguf", "sha256": "ab"}
  stated = conditions(COLOCATED, WORKLOAD, weights=file)
  assert stated["contract"]["weights"] == "sha256 ab"
  assert stated["design"]["weights"] == file
  renamed = conditions(COLOCATED, WORKLOAD, weights=file | {"file": "b"})
  assert comparable(stated, renamed) == []
  seeded = conditions(COLOCATED, WORKLOAD)
  assert seeded["contract"]["weights"] == "random, seed 0"
  assert comparable(stated, seeded) == ["weights"]


def test_two_anchors_are_not_compared_but_none_agrees():
  at_prefill = dataclasses.replace(
      SPLIT, strategy=config.Strategy(kind="disaggregated")
  )
  ours, theirs = conditions(SPLIT, WORKLOAD), conditions(at_prefill, WORKLOAD)
  assert comparable(ours, theirs) == ["first_token_anchor"]
  assert comparable(ours, conditions(COLOCATED, WORKLOAD)) == []


def test_notes_and_workload_do_not_decide():
  noted = conditions(COLOCATED, WORKLOAD, notes=["devices share 2 cores"])
  assert noted["notes"] == ["devices share 2 cores"]
  assert comparable(noted, conditions(COLOCATED, WORKLOAD | {"x": 1})) == []


def test_flip_between_anchors_is_said():
  # Median TTFT of the hand-made log is 5 us at prefill, 6 us later.
  handed_off = summarize(request_table(hand_made()), COLOCATED)
  still = dict.fromkeys(
      (f"p50_ttft_{a}_ms" for a in (
          "prefill_sampled", "kv_landed", "first_decode",
      )),
      5.5e-3,
  )
  assert flips(handed_off, still) == ["kv_landed", "first_decode"]
  assert flips(still, still) == []


def test_one_name_for_two_chips_is_no_common_ground():
  def of(hbm_bytes_per_s):
    own = {"mine": {"like": "h100-sxm", "hbm_bytes_per_s": hbm_bytes_per_s}}
    cluster = config.Cluster(chip="mine", chips=own)
    return conditions(config.Run(cluster=cluster), {})

  assert comparable(of(5e12), of(6e12)) == ["own_chips"]
  assert comparable(of(5e12), of(5e12)) == []
