"""Where contracts agree, differ, or are not told."""

import dataclasses

from pdjax import config
from pdjax.compare.agreement import agreement
from pdjax.compare.rival import claimed
from pdjax.published import claim
from tests.compare.rivals import COLOCATED, SPLIT, rival


def changed(run=COLOCATED, **fields):
  return rival(dataclasses.replace(run, **fields))


def test_designs_may_differ():
  assert agreement(rival(), rival(SPLIT)).agreed


def test_another_slo_is_an_obstacle_until_it_is_allowed():
  other = changed(slo=config.SLO(ttft_s=0.5))
  found = agreement(rival(), other)
  assert found.obstacles == ["slo"] and not found.agreed
  allowed = agreement(rival(), other, ["slo"])
  assert allowed.agreed and allowed.overlooked == ["slo"]
  # Allowing one thing allows nothing else.
  assert agreement(rival(), other, ["model"]).obstacles == ["slo"]


def test_ttft_with_and_without_transfer_is_not_one_figure():
  handed = dataclasses.replace(
      SPLIT,
      strategy=config.Strategy(kind="disaggregated", first_token="at_handoff"),
  )
  found = agreement(rival(SPLIT), rival(handed))
  assert found.obstacles == ["first_token_anchor"]
  assert found.differing["first_token_anchor"] == (
      "prefill_sampled", "kv_landed",
  )


def test_chips_alone_are_no_obstacle():
  larger = config.Cluster(split="4C", chip="h100-sxm")
  found = agreement(rival(), changed(cluster=larger))
  assert found.agreed and list(found.differing) == ["chips"]


def test_measured_is_never_divided_by_simulated():
  measured = changed(backend=config.Backend(kind="jax"))
  for pair in ((rival(), measured), (measured, rival())):
    found = agreement(*pair, ["backend", "unknown", "claim_type"])
    assert found.never and not found.agreed


def test_seeds_are_compared_one_by_one():
  ours = rival(by_seed={0: {}, 1: {}})
  assert agreement(ours, rival(SPLIT, by_seed={1: {}, 2: {}})).agreed
  apart = agreement(ours, rival(SPLIT, by_seed={3: {}}))
  assert apart.obstacles == ["content_sha256"]


def test_what_a_claim_does_not_tell_is_an_obstacle():
  found = claim.read("distserve-figure-1")
  a, b = (claimed(found, row) for row in (found.rows[0], found.rows[-1]))
  bare = agreement(a, b)
  assert bare.obstacles[0] == "backend"
  assert set(bare.obstacles[1:]) == set(a.unknown) == set(bare.unknown)
  assert "sampling" in bare.unknown and "model" not in bare.unknown
  assert agreement(a, b, ["backend", "unknown"]).agreed
  assert agreement(a, b, ["backend", *a.unknown]).agreed
  assert not agreement(a, b, ["backend", *a.unknown[1:]]).agreed


def test_a_simulated_claim_meets_no_measurement():
  simulated = claim.read("splitwise-iso-power")
  vendor = claim.read("mooncake-production")
  ours = claimed(simulated, simulated.rows[0])
  theirs = claimed(vendor, vendor.rows[0])
  assert agreement(ours, theirs, ["unknown"]).never
  measured = changed(backend=config.Backend(kind="jax"))
  assert agreement(theirs, measured).obstacles[0] == "claim_type"
  assert not agreement(theirs, measured).never
