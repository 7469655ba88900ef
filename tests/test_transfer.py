"""Checksums notice damage; the mover keeps order and reports its end."""

import dataclasses
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
  for what in ("gathered", "sent"):
    assert [e[1] for e in story if e[0] == what] == [0, 1, 2]
  for value in range(3):
    gathered, sent = [e for e in story if e[1] == value]
    assert gathered == ("gathered", value) and sent == ("sent", value, {target})
  assert not failures


def test_a_failed_put_is_told():
  failures, told = [], threading.Event()

  def failed(error):
    failures.append(error)
    told.set()

  def put(stagings, shardings):
    raise OSError("no route")

  mover = transfer.Mover(failed, put)
  mover.ship(shipment(0, jax.devices()[1], [], threading.Event()))
  assert told.wait(60)
  mover.close()
  assert [str(error) for error in failures] == ["no route"]


class Held:
  """A put that waits until it may go on, and keeps count of what it moves."""

  def __init__(self):
    self.begun, self.may = threading.Event(), threading.Event()
    self.batches = []

  def __call__(self, stagings, shardings):
    self.batches.append([int(staging[0]) for staging in stagings])
    self.begun.set()
    assert self.may.wait(60)
    return jax.device_put(stagings, shardings)


def batches_of(*waiting, first=0):
  """Has a put wait while others are queued behind its shipment.

  Returns:
    What went in each put, by value, and what was told, in order.
  """
  put, story, failures = Held(), [], []
  mover = transfer.Mover(failures.append, put)
  target, done = jax.devices()[1], threading.Event()
  mover.ship(shipment(first, target, story, done))
  assert put.begun.wait(60)
  for value, track in waiting:
    mover.ship(dataclasses.replace(
        shipment(value, target, story, done), track=track
    ))
  put.may.set()
  mover.close()
  assert not failures
  return put.batches, [entry[:2] for entry in story]


def test_small_shipments_of_one_link_go_together():
  batches, story = batches_of((1, "link"), (2, "link"), (3, "link"))
  assert batches == [[0], [1, 2, 3]]
  assert story[:2] == [("gathered", 0), ("sent", 0)]
  assert story[2:] == [
      (what, value) for what in ("gathered", "sent") for value in (1, 2, 3)
  ]


def test_other_links_keep_their_turn():
  batches, _ = batches_of((1, "link"), (2, "other"), (3, "link"))
  assert batches == [[0], [1], [2], [3]]


@pytest.mark.parametrize(
    ("most_bytes", "batches"),
    [(24, [[0], [1, 2], [3, 4]]), (23, [[0], [1], [2], [3], [4]])],
)
def test_a_put_is_bounded(monkeypatch, most_bytes, batches):
  """Each shipment has 12 bytes."""
  monkeypatch.setattr(transfer, "BATCH_BYTES", most_bytes)
  assert batches_of(*((i, "link") for i in range(1, 5)))[0] == batches


class Late:
  """A staging array that its source has not computed yet."""

  nbytes, ready = 12, False

  def is_ready(self):
    return self.ready

  def block_until_ready(self):
    self.ready = True
    return self

  def __getitem__(self, at):
    return 7


def test_nobody_waits_for_what_is_not_ready():
  put, done, failures = Held(), [], []
  put.may.set()
  mover = transfer.Mover(failures.append, lambda stagings, shardings: (
      put.batches.append(len(stagings)) or stagings
  ))
  gate = threading.Event()

  def ship(staging, sent=done.append):
    mover.ship(transfer.Shipment(staging, None, lambda: None, sent))

  ship(jnp.ones(3), lambda _: gate.wait(60))
  ship(jnp.ones(3))
  ship(Late())
  ship(jnp.ones(3))
  gate.set()
  mover.close()
  # The one that is late goes with what is ready by then.
  assert not failures and len(done) == 3
  assert put.batches in ([1, 1, 2], [2, 2])


def test_one_failed_put_fails_what_is_in_it():
  told, story, gate = [], [], threading.Event()

  def put(stagings, shardings):
    assert gate.wait(60)
    if len(stagings) > 1:
      raise OSError("no route")
    return jax.device_put(stagings, shardings)

  mover = transfer.Mover(told.append, put)
  for value in range(3):
    mover.ship(shipment(value, jax.devices()[1], story, threading.Event()))
    if not value:
      while not story:  # the first put has begun
        threading.Event().wait(0.001)
  gate.set()
  mover.close()
  assert [str(error) for error in told] == ["no route"]
  assert [entry[:2] for entry in story if entry[0] == "sent"] == [("sent", 0)]
