"""Checksums notice damage; the mover keeps order and reports its end."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import SingleDeviceSharding

from pdjax import transfer

SHAPE = (2, 3, 2, 2, 4, 8)
"""L, M, pair, K, C, H."""


def pages(dtype=jnp.float32):
  values = np.random.default_rng(0).standard_normal(SHAPE)
  return jnp.asarray(values, dtype)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_one_changed_value_shows_on_its_page(dtype):
  before = pages(dtype)
  after = before.at[1, 2, 0, 1, 3, 5].multiply(jnp.array(-1, dtype))
  sums = [np.asarray(transfer.checksums(x, heads=2)) for x in (before, after)]
  assert (sums[0] != sums[1]).tolist() == [[False, False, True]]


def test_a_page_with_every_sign_turned_shows():
  """An even number of highest bits: without mixing their changes cancel."""
  before = pages()
  after = before.at[:, 0].multiply(-1)
  sums = [np.asarray(transfer.checksums(x, heads=2)) for x in (before, after)]
  assert (sums[0] != sums[1]).tolist() == [[True, False, False]]


def test_swapped_values_show():
  before = pages()
  after = before.at[0, 1, 0, 0, [0, 1]].set(before[0, 1, 0, 0, [1, 0]])
  sums = [np.asarray(transfer.checksums(x, heads=2)) for x in (before, after)]
  assert (sums[0] != sums[1]).tolist() == [[False, True, False]]


def test_nan_in_unwritten_cells_is_a_value_like_another():
  poisoned = pages().at[0, 0, 0, 0, 3].set(jnp.nan)
  sums = [transfer.checksums(poisoned, heads=2) for _ in range(2)]
  np.testing.assert_array_equal(*sums)


def test_copies_of_heads_are_summed_apart():
  doubled = jnp.repeat(pages(), 2, axis=3)
  sums_RM = transfer.checksums(doubled, heads=2)
  assert sums_RM.shape == (2, 3)
  expected = transfer.checksums(pages(), heads=2)[0]
  np.testing.assert_array_equal(sums_RM, jnp.stack([expected, expected]))


def shipment(value, device, story, done):
  def sent(arrived):
    story.append(("sent", int(arrived[0]), arrived.devices()))
    done.set()

  return transfer.Shipment(
      jnp.full(3, value, jnp.int32), SingleDeviceSharding(device),
      lambda: story.append(("gathered", value)), sent,
  )


def test_shipments_arrive_in_order():
  target, story, failures = jax.devices()[1], [], []
  mover = transfer.Mover(failures.append)
  for value in range(3):
    mover.ship(shipment(value, target, story, threading.Event()))
  mover.close()
  assert story == [
      entry for value in range(3)
      for entry in (("gathered", value), ("sent", value, {target}))
  ]
  assert not failures


def test_a_failed_put_is_told():
  failures, told = [], threading.Event()

  def failed(error):
    failures.append(error)
    told.set()

  def put(staging, sharding):
    raise OSError("no route")

  mover = transfer.Mover(failed, put)
  mover.ship(shipment(0, jax.devices()[1], [], threading.Event()))
  assert told.wait(60)
  mover.close()
  assert [str(error) for error in failures] == ["no route"]
