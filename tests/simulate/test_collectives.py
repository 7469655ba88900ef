"""Collectives by hand, on a switch, between hosts and on a torus."""

import dataclasses

import pytest

from pdjax.simulate.chips import CHIPS
from pdjax.simulate.collectives import Fabric, box_sides
from pdjax.simulate.scalars import Scalars

H100, A40, V5P = CHIPS["h100-sxm"], CHIPS["a40"], CHIPS["tpu-v5p"]
FULL = Scalars(
    link_efficiency=1, host_link_efficiency=1, network_efficiency=1,
    hop_latency_s=1.9e-6, exchange_latency_s=0, engine_exchange_s=0,
    own_reduce_bytes=0,
)
US, MB = 10**6, 10**6


def fabric(chip=H100, **scalars):
  return Fabric(chip, dataclasses.replace(FULL, **scalars))


def us(price_ps):
  return price_ps / US


def test_a_ring_by_hand():
  # 2 * 7 hops of 1.9 us, 2 * 7 / 8 of 90 MB at 450 GB/s.
  assert us(fabric().all_reduce_ps(90 * MB, 8)) == pytest.approx(26.6 + 350)
  assert us(fabric().all_gather_ps(90 * MB, 8)) == pytest.approx(13.3 + 175)


def test_short_messages_go_with_their_flags():
  """Hops of 0.6 us and a quarter of 450 GB/s; they begin as others do."""
  begun = fabric(exchange_latency_s=1e-6)
  assert us(begun.all_reduce_ps(90_000, 8)) == pytest.approx(4 + 8.4 + 1.4)
  assert us(begun.all_gather_ps(90_000, 8)) == pytest.approx(2 + 4.2 + 0.7)
  # Of 1.8 MB the longer hops are worth the whole rate.
  assert us(begun.all_reduce_ps(1_800_000, 8)) == pytest.approx(4 + 26.6 + 7)


def test_shots_by_hand():
  own = fabric(own_reduce_bytes=4 * 10**6)
  # 1 hop, 3 times 150 kB at 450 GB/s; the ring takes 6 short hops and 2 us.
  assert us(own.all_reduce_ps(150_000, 4)) == pytest.approx(0.6 + 1)
  # Of 3 MB 2 hops and 6 / 4 of it are less than 3 times all of it.
  assert us(own.all_reduce_ps(3 * MB, 4)) == pytest.approx(1.2 + 10)
  assert own.all_reduce_ps(5 * MB, 4) == fabric().all_reduce_ps(5 * MB, 4)


def test_shots_need_a_way_from_each_to_each():
  for chip, chips in ((A40, 4), (V5P, 4), (H100, 16)):
    rings = fabric(chip).all_reduce_ps(100_000, chips)
    own = fabric(chip, own_reduce_bytes=MB)
    assert own.all_reduce_ps(100_000, chips) == rings
  pair = fabric(A40, own_reduce_bytes=MB)
  assert us(pair.all_reduce_ps(5625, 2)) == pytest.approx(0.6 + 0.1)


def test_between_hosts_every_chip_has_its_card():
  # 8 cards of 50 GB/s, a quarter lost to the way back: 300 GB/s, less than
  # NVLink's 450.
  sixteen = fabric().all_reduce_ps(400 * MB, 16)
  # One hop in 15 is over the network, of 14 us.
  hops_us = 2 * (14 * 1.9 + 14)
  assert us(sixteen) == pytest.approx(hops_us + 4000 / 3 * 2 * 15 / 16)
  alone = fabric(dataclasses.replace(H100, host_chips=1, domain_chips=1))
  assert us(alone.all_reduce_ps(50 * MB, 2)) == pytest.approx(28 + 4000 / 3)


def test_past_a_bridge_is_the_hosts_own_link():
  # 2 chips over a bridge of 56.25 GB/s, 4 over PCIe at 32 GB/s.
  pair, four = (fabric(A40).all_reduce_ps(100 * MB, n) for n in (2, 4))
  assert us(pair) == pytest.approx(3.8 + 100e6 / 56.25e9 * 1e6, abs=1e-3)
  # PCIe's hops take 5.7 us.
  assert us(four) == pytest.approx(6 * 5.7 + 150e6 / 32e9 * 1e6, abs=1e-3)


def test_all_to_all_keeps_its_own_part():
  assert us(fabric().all_to_all_ps(450 * MB, 4)) == pytest.approx(1.9 + 750)
  assert us(fabric().all_to_all_ps(50 * MB, 16)) == pytest.approx(
      14 + 1000 * 15 / 16
  )


def test_a_torus_uses_all_its_axes():
  """2 x 2 x 2 has one link an axis, 4 x 4 x 4 two; 90 GB/s each.

  A hop takes 1 us; around a wrapped axis of 4 the farthest chip is 2 away.
  """
  cube, larger = (fabric(V5P).all_reduce_ps(540 * MB, n) for n in (8, 64))
  assert us(cube) == pytest.approx(2 * 3 + 2 * 7 / 8 * 2000)
  assert us(larger) == pytest.approx(2 * 6 + 2 * 63 / 64 * 1000)


@pytest.mark.parametrize(
    "collective, starts",
    [("all_reduce_ps", 4), ("all_gather_ps", 2), ("all_to_all_ps", 2)],
)
def test_every_collective_takes_its_time_to_begin(collective, starts):
  late = getattr(fabric(exchange_latency_s=5e-6), collective)(90 * MB, 8)
  assert late - getattr(fabric(), collective)(90 * MB, 8) == starts * 5 * US


def test_a_torus_and_engines_own_all_reduces_begin_by_themselves():
  late = {"engine_exchange_s": 5e-6}
  for size, chip, chips, starts, more in (
      (MB, V5P, 8, 2, {}),
      (1000, H100, 8, 2, {"own_reduce_bytes": MB, "exchange_latency_s": 1}),
      (9 * MB, H100, 8, 4,
       {"own_reduce_bytes": 9 * MB, "exchange_latency_s": 1}),
  ):
    plain = fabric(chip, **more).all_reduce_ps(size, chips)
    begun = fabric(chip, **late, **more).all_reduce_ps(size, chips)
    assert begun - plain == starts * 5 * US
  assert fabric(**late).all_reduce_ps(MB, 8) == fabric().all_reduce_ps(MB, 8)


def test_a_send_begins_with_one_exchange_and_fills_the_link():
  slow = fabric(link_efficiency=0.5, exchange_latency_s=5e-6)
  assert us(slow.send_ps(45 * MB, 4)) == pytest.approx(5 + 1.9 + 100)
  # A stage of eight fills a host, so the next one is over the network.
  assert us(slow.send_ps(45 * MB, 8)) == pytest.approx(5 + 14 + 900)


def test_one_chip_talks_to_nobody():
  for collective in ("all_reduce_ps", "all_gather_ps", "all_to_all_ps"):
    assert getattr(fabric(), collective)(MB, 1) == 0


@pytest.mark.parametrize(
    "chips, axes, sides",
    [(12, 2, (4, 3)), (4, 3, (2, 2)), (64, 3, (4, 4, 4)), (7, 2, (7,))],
)
def test_boxes(chips, axes, sides):
  assert box_sides(chips, axes) == sides
