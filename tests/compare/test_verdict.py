"""Ratios, what flips with the anchor, and rivals of unequal size."""

import dataclasses

import pytest

from pdjax import config
from pdjax.compare.record import record
from pdjax.compare.rival import claimed
from pdjax.compare.verdict import slo_flips, verdict
from pdjax.compare.words import words
from pdjax.published import claim
from tests.compare.rivals import COLOCATED, SPLIT, rival


def plain(found, name):
  return next(q for q in found.plain if q.figure.name == name)


def test_seeds_are_paired():
  # Seeds differ by a factor of three, B is a quarter better on each.
  goodput = {seed: 1.0 + seed for seed in range(3)}
  name = "request_goodput_per_chip"
  ours = rival(by_seed={s: {name: v} for s, v in goodput.items()})
  theirs = rival(
      SPLIT, by_seed={s: {name: 1.25 * v} for s, v in goodput.items()}
  )
  found = plain(verdict(ours, theirs), name)
  assert found.ratio.interval.estimate == pytest.approx(1.25)
  assert found.ratio.significant and found.better == "B"
  assert plain(verdict(theirs, ours), name).better == "A"


def test_one_run_each_has_the_interval_that_its_rows_have():
  rows = [
      {
          "mean_ttft_ms": mean, "mean_ttft_low_ms": 0.9 * mean,
          "mean_ttft_high_ms": 1.1 * mean,
      }
      for mean in (100.0, 150.0)
  ]
  found = plain(verdict(rival(**rows[0]), rival(SPLIT, **rows[1])),
                "mean_ttft_ms")
  interval = found.ratio.interval
  # Wider than either alone, narrower than the ends divided by each other.
  assert 1.5 * 0.9 / 1.1 < interval.low < 1.5 * 0.9
  assert 1.5 * 1.1 < interval.high < 1.5 * 1.1 / 0.9
  assert found.better == "A" and found.ratio.significant


def test_goodput_is_as_sure_as_its_attainment_over_a_window():
  row = {
      "slo_attainment": 0.8, "slo_attainment_low": 0.76,
      "slo_attainment_high": 0.84,
  }
  for protocol, known in (("steady", True), ("count", False)):
    sides = (
        rival(run, **row, **{"workload.protocol": protocol})
        for run in (COLOCATED, SPLIT)
    )
    found = plain(verdict(*sides), "request_goodput_per_chip")
    assert (found.ratio.interval.low is not None) is known


def by_anchor(sampled_ms, decoded_ms, noise):
  """Three seeds of B with other TTFTs at two anchors than A's 100 ms."""
  return rival(SPLIT, by_seed={
      seed: {
          "p50_ttft_prefill_sampled_ms": sampled_ms + noise * (seed - 1),
          "p50_ttft_first_decode_ms": decoded_ms + noise * (seed - 1),
          "slo_met_first_decode": False,
      }
      for seed in range(3)
  })


@pytest.mark.parametrize(
    ("sampled_ms", "decoded_ms", "noise"),
    [
        (80.0, 130.0, 60.0),  # all within the noise
        (100.0, 130.0, 0.5),  # equal at one anchor: no change of sides
        (99.9, 100.1, 0.001),  # sure, but written as 1.00x
    ],
)
def test_no_flip_without_significance_and_a_change_of_sides(
    sampled_ms, decoded_ms, noise
):
  ours = rival(by_seed={0: {}, 1: {}, 2: {}})
  found = verdict(ours, by_anchor(sampled_ms, decoded_ms, noise))
  assert found.flips == {}
  assert "FLIPS with the anchor: TTFT" not in words(found)


def test_an_interval_written_with_1_in_it_calls_none_better():
  def text(ratio):
    noise = (-1e-4, 0.0, 1e-4)
    ours = rival(by_seed={s: {"mean_tpot_ms": 10.0} for s in range(3)})
    theirs = rival(SPLIT, by_seed={
        s: {"mean_tpot_ms": 10.0 * (ratio + noise[s])} for s in range(3)
    })
    (line,) = (
        line for line in words(verdict(ours, theirs)).splitlines()
        if line.startswith("TPOT mean")
    )
    return line

  assert text(1.003).endswith("[1.00, 1.00], too near 1 to call")
  assert text(1.02).endswith("[1.02, 1.02], A better")


def test_what_a_claim_leaves_out_is_not_called_a_difference():
  found = claim.read("distserve-figure-1")
  row = dataclasses.replace(found.rows[0], design={"tp": 1, "split": "1C"})
  bare = dataclasses.replace(row, design={"split": "1P1D"})
  text = words(verdict(claimed(found, row), claimed(found, bare)))
  assert "told of A alone: tp 1" in text and " none" not in text
  assert "A  1C" in text and "B  1P1D" in text
  # A run's pools say what a claim says of all workers: the same.
  text = words(verdict(claimed(found, row), rival()))
  assert "both: tp 1" in text and "told of B alone: strategy" in text


def test_claims_of_ratios_alone_are_no_dead_end():
  found = claim.read("mooncake-conversation")
  a, b = (claimed(found, row) for row in found.rows[:2])
  text = " ".join(words(verdict(a, b)).split())
  assert "nothing can be divided, whatever is allowed: no figure" in text
  assert "compare mooncake-conversation` shows its ratios" in text
  assert "--allow" not in text


def test_a_flip_between_anchors_is_found_and_said():
  late = by_anchor(80.0, 130.0, noise=0.5)
  found = verdict(rival(by_seed={0: {}, 1: {}, 2: {}}), late)
  assert found.flips == {"p50_ttft": {
      "prefill_sampled": "B", "kv_landed": "equal", "first_decode": "A",
  }}
  assert slo_flips(rival()) == []
  text = words(found)
  assert "FLIPS with the anchor: TTFT p50, ms: B is better at" in text
  assert "B meets its SLO at prefill_sampled and kv_landed, misses it at" in (
      " ".join(text.split())
  )
  assert verdict(rival(), rival(SPLIT)).flips == {}


def test_unequal_chips_are_filled_with_replicas():
  # 4 good requests/s on 2 chips against 4 on 5: two replicas fit, one is idle.
  larger = dataclasses.replace(
      COLOCATED, cluster=config.Cluster(split="5C", chip="h100-sxm")
  )
  totals = verdict(rival(), rival(larger)).totals
  assert (totals.chips, totals.a.replicas, totals.a.idle_chips) == (5, 2, 1)
  assert totals.a.goodput_per_s == pytest.approx(8.0)
  assert totals.b.goodput_per_s == pytest.approx(4.0)
  assert totals.ratio == pytest.approx(0.5)
  text = " ".join(words(verdict(rival(), rival(larger))).split())
  assert "UNEQUAL CHIPS: A has 2, B 5" in text
  assert "the load differs: 2.5/s a chip on A, 1/s on B" in text
  assert verdict(rival(), rival(SPLIT)).totals is None


def test_both_designs_are_shown_also_with_a_refusal():
  other = rival(dataclasses.replace(SPLIT, slo=config.SLO(ttft_s=0.5)))
  text = words(verdict(rival(), other))
  assert "A  2C" in text and "B  1P1D" in text
  assert "NO RATIO" in text and "slo.terms" in text and "B / A" not in text
  allowed = words(verdict(rival(), other, ["slo"]))
  assert "ALLOWED" in allowed and "B / A" in allowed


def test_a_claim_has_a_ratio_without_an_interval():
  found = claim.read("distserve-figure-1")
  a, b = (claimed(found, row) for row in (found.rows[0], found.rows[-1]))
  result = verdict(a, b, ["backend", "unknown"])
  (one,) = result.plain
  assert one.ratio.interval.estimate == pytest.approx(3.3 / 1.6)
  text = words(result)
  assert "2.06x" in text and "no interval: a published figure" in text
  assert "does not support" in text and "not told: " in text
  assert record(result)["ratios"]["max_goodput_rate_per_chip"]["low"] is None


def test_a_range_stays_a_range():
  found = claim.read("distserve-transfer")
  row = dataclasses.replace(
      found.rows[0], figures={"mean_ttft_ms": (10.0, 30.0)}
  )
  other = dataclasses.replace(row, figures={"mean_ttft_ms": 20.0})
  result = verdict(claimed(found, row), claimed(found, other), ["unknown"])
  assert plain(result, "mean_ttft_ms").span == pytest.approx((2 / 3, 2.0))
  assert "0.67x to 2.00x" in words(result)


def test_without_a_common_figure_there_is_no_ratio():
  found = claim.read("mooncake-conversation")
  a, b = (claimed(found, row) for row in found.rows[:2])
  result = verdict(a, b, ["unknown", "slo"])
  assert result.agreement.agreed and not result.compared
  assert "no figure in common" in words(result)


def test_lines_fit_the_page():
  text = words(verdict(rival(label="a " * 60), rival(SPLIT)))
  assert max(map(len, text.splitlines())) <= 100
