"""Collectives by hand, on a switch, between hosts and on a torus."""

import dataclasses

import pytest

from pdjax.simulate.chips import CHIPS
from pdjax.simulate.collectives import Fabric, box_sides
from pdjax.simulate.scalars import Scalars

H100, A40, V5P = CHIPS["h100-sxm"], CHIPS["a40"], CHIPS["tpu-v5p"]
FULL = Scalars(
    link_efficiency=1, host_link_efficiency=1, network_efficiency=1,
    hop_latency_s=1e-6,
    exchange_latency_s=0, one_shot_bytes=0,
)
US, MB = 10**6, 10**6


def fabric(chip=H100, **scalars):
  return Fabric(chip, dataclasses.replace(FULL, **scalars))


def us(price_ps):
  return price_ps / US


def test_a_ring_by_hand():
  # 2 * 7 hops of 1 us, 2 * 7 / 8 of 90 MB at 450 GB/s.
  assert us(fabric().all_reduce_ps(90 * MB, 8)) == pytest.approx(14 + 350)
  assert us(fabric().all_gather_ps(90 * MB, 8)) == pytest.approx(7 + 175)


def test_one_shot_by_hand():
  one_shot = fabric(one_shot_bytes=10**6)
  # 1 hop, 3 times 450 kB at 450 GB/s; the ring takes 6 hops and 1.5 us.
  assert us(one_shot.all_reduce_ps(450_000, 4)) == pytest.approx(1 + 3)
  assert one_shot.all_reduce_ps(2 * MB, 4) == fabric().all_reduce_ps(2 * MB, 4)


def test_between_hosts_every_chip_has_its_card():
  # 8 cards of 50 GB/s are 400 GB/s, less than NVLink's 450.
  sixteen = fabric().all_reduce_ps(400 * MB, 16)
  assert us(sixteen) == pytest.approx(30 + 1000 * 2 * 15 / 16)
  alone = fabric(dataclasses.replace(H100, host_chips=1, domain_chips=1))
  assert us(alone.all_reduce_ps(50 * MB, 2)) == pytest.approx(2 + 1000)


def test_past_a_bridge_is_the_hosts_own_link():
  # 2 chips over a bridge of 56.25 GB/s, 4 over PCIe at 32 GB/s.
  pair, four = (fabric(A40).all_reduce_ps(100 * MB, n) for n in (2, 4))
  assert us(pair) == pytest.approx(2 + 100e6 / 56.25e9 * 1e6, abs=1e-3)
  assert us(four) == pytest.approx(6 + 150e6 / 32e9 * 1e6, abs=1e-3)


def test_all_to_all_keeps_its_own_part():
  assert us(fabric().all_to_all_ps(450 * MB, 4)) == pytest.approx(1 + 750)
  assert us(fabric().all_to_all_ps(50 * MB, 16)) == pytest.approx(
      1 + 1000 * 15 / 16
  )


def test_a_torus_uses_all_its_axes():
  """2 x 2 x 2 has one link an axis, 4 x 4 x 4 two; 90 GB/s each."""
  cube, larger = (fabric(V5P).all_reduce_ps(540 * MB, n) for n in (8, 64))
  assert us(cube) == pytest.approx(2 * 3 + 2 * 7 / 8 * 2000)
  assert us(larger) == pytest.approx(2 * 9 + 2 * 63 / 64 * 1000)


@pytest.mark.parametrize(
    "collective, starts",
    [("all_reduce_ps", 4), ("all_gather_ps", 2), ("all_to_all_ps", 2)],
)
def test_every_collective_takes_its_time_to_begin(collective, starts):
  late = getattr(fabric(exchange_latency_s=5e-6), collective)(MB, 8)
  assert late - getattr(fabric(), collective)(MB, 8) == starts * 5 * US


def test_a_send_begins_with_one_exchange_and_fills_the_link():
  slow = fabric(link_efficiency=0.5, exchange_latency_s=5e-6)
  assert us(slow.send_ps(45 * MB, 4)) == pytest.approx(5 + 1 + 100)
  # A stage of eight fills a host, so the next one is over the network.
  assert us(slow.send_ps(45 * MB, 8)) == pytest.approx(5 + 1 + 900)


def test_one_chip_talks_to_nobody():
  for collective in ("all_reduce_ps", "all_gather_ps", "all_to_all_ps"):
    assert getattr(fabric(), collective)(MB, 1) == 0


@pytest.mark.parametrize(
    "chips, axes, sides",
    [(12, 2, (4, 3)), (4, 3, (2, 2)), (64, 3, (4, 4, 4)), (7, 2, (7,))],
)
def test_boxes(chips, axes, sides):
  assert box_sides(chips, axes) == sides
