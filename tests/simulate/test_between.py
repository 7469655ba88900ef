"""Default links between workers: what joins them, and no more."""

import pytest

from pdjax.simulate.between import crossing_links
from pdjax.simulate.chips import CHIPS
from pdjax.simulate.cluster import cluster_of
from pdjax.simulate.scalars import Scalars
from tests.simulate.serving import make_run

NETWORK = Scalars().network_efficiency


def link_bytes_per_s(chip, tp, split="1P1D", chips=None):
  run = make_run(
      "disaggregated", split,
      cluster={"chip": chip, "tp": tp, "chips": chips or {}},
  )
  (bandwidth,) = {
      link.bandwidth_bytes_per_s for link in cluster_of(run).links
  }
  return bandwidth


def test_a_switch_takes_all_links_of_all_chips():
  assert link_bytes_per_s("h100-sxm", 1) == 450e9
  assert link_bytes_per_s("h100-sxm", 4) == 4 * 450e9


def test_between_hosts_each_chip_has_its_card():
  assert link_bytes_per_s("h100-sxm", 8) == 8 * NETWORK * 50e9
  assert link_bytes_per_s("h100-sxm", 4, "2P2D") == 4 * NETWORK * 50e9


def test_a_bridge_joins_two_chips_and_no_more():
  assert link_bytes_per_s("a100-80gb-pcie", 1) == 300e9
  assert link_bytes_per_s("a100-80gb-pcie", 2) == 2 * 32e9
  assert link_bytes_per_s("a100-80gb-pcie", 1, "2P1D") == 32e9


# Of 1, 2, 4 and 8 chips: a chip; two abreast; 2 x 2 on 2 x 2; 2 x 2 x 2 at one
# of its faces. On two axes 2 x 2 and 4 x 2 meet at their longer side.
@pytest.mark.parametrize("chip, links", [
    ("tpu-v5p", {1: 1, 2: 2, 4: 4, 8: 4}),
    ("tpu-v6e", {1: 1, 2: 2, 4: 2, 8: 4}),
])
def test_in_a_torus_only_links_that_join_two_workers_count(chip, links):
  each = CHIPS[chip].ici_link_bytes_per_s
  assert {tp: link_bytes_per_s(chip, tp) / each for tp in links} == links


def test_an_axis_that_closes_joins_workers_on_both_sides():
  assert crossing_links(64, 3) == 2 * 16  # 4 x 4 x 4: whole cubes
  assert crossing_links(16, 3) == 8  # 4 x 4 x 2 of two is no cube
  assert crossing_links(64, 2) == 2 * 8  # 16 x 8 of two
  assert crossing_links(32, 2) == 8


@pytest.mark.parametrize("chips", [1, 2, 3, 4, 6, 8, 12, 16, 64, 96, 512])
@pytest.mark.parametrize("axes", [2, 3])
def test_no_worker_sends_more_than_its_chips_have(chips, axes):
  assert 1 <= crossing_links(chips, axes) <= 2 * axes * chips


def test_a_torus_of_ones_own():
  mine = {"mine": {
      "like": "tpu-v7x", "ici_link_bytes_per_s": 1e11,
  }}
  assert link_bytes_per_s("mine", 4, chips=mine) == 4e11
