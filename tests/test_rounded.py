"""Pages as int8: what they weigh, how far off they are, and what that does."""

import functools

import jax
import numpy as np
import pytest

from pdjax import kv, rounded
from tests.models.paged_session import PagedSession, load


def moved(source, target):
  """The source's pages in the target's pool, in its own places."""
  pages = np.flatnonzero(np.arange(source.config.num_pages)).astype(np.int32)
  layers = np.arange(source.config.num_layers, dtype=np.int32)
  there, here = source.model.mesh, target.model.mesh
  take = jax.jit(functools.partial(
      rounded.gather, mesh=there, kernels=source.model.kernels
  ))
  put = jax.jit(functools.partial(
      rounded.scatter, mesh=here, kernels=target.model.kernels
  ), out_shardings=kv.pool_sharding(here))
  staging = take(source.pool, pages, layers)
  heads = staging.payload_LM2KCH.shape[3]
  arrived = jax.device_put(staging, rounded.shardings(here, heads))
  return staging, put(target.pool, arrived, pages, layers)


@pytest.fixture(name="session", scope="module")
def _session():
  session = PagedSession(load("tiny"))
  rng = np.random.default_rng(0)
  session.step(prefill=[(0, rng.integers(256, size=50).tolist())])
  return session


@pytest.mark.parametrize("tp", [1, 2, 4])
def test_a_value_is_off_by_at_most_half_a_step_of_its_scale(session, tp):
  """At 4 devices each of the two heads is stored twice."""
  target = PagedSession(load("tiny", tp))
  _, pool = moved(session, target)
  copies = target.config.head_copies
  there = np.asarray(session.pool)[:, 1:]
  here = np.asarray(pool)[:, 1:]
  for copy in range(copies):
    off = np.abs(here[:, :, :, copy::copies] - there).max(axis=-1)
    assert (off <= np.abs(there).max(axis=-1) / 254 * 1.001).all()
  assert off.max() > 0


def test_what_travels_weighs_what_is_said(session):
  staging, _ = moved(session, PagedSession(load("tiny")))
  pages = session.config.num_pages - 1
  size = sum(part.nbytes for part in staging)
  assert size == pages * rounded.page_bytes(session.config)
  assert size < 0.4 * pages * session.config.page_bytes
  spec = session.model.spec
  assert rounded.page_bytes(session.config) == (
      session.config.page_tokens * spec.kv_int8_bytes_per_token
  )


def test_logits_stay_within_a_bound(session):
  """Within 5 % of their standard deviation, over 8 tokens of an answer."""
  exact, other = PagedSession(load("tiny")), PagedSession(load("tiny"))
  exact.pool = session.pool + 0
  _, other.pool = moved(session, other)
  for each in (exact, other):
    each.lengths = session.lengths.copy()
  for token in range(8):
    there = np.asarray(exact.step(decode=[(0, token)]))
    here = np.asarray(other.step(decode=[(0, token)]))
    off = np.abs(here - there).max()
    assert 0 < off < 0.05 * there.std(), off / there.std()


def test_restored_is_what_the_target_holds(session):
  """Checksums of both ends are of the same bits."""
  staging, pool = moved(session, PagedSession(load("tiny")))
  np.testing.assert_array_equal(
      rounded.restored(staging, "float32"), np.asarray(pool)[:, 1:]
  )


