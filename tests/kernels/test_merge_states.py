"""Parts of an attention put together are the whole."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pdjax_kernels.merge_states.reference import merge_states, with_sink
from pdjax_kernels.paged_decode import reference, tpu

from tests.kernels.problems import (
    SCALE,
    Shape,
    cache,
    close,
    jitted,
    queries,
    table,
)

SHAPE = Shape()


def _problem():
  length_B = np.array(SHAPE.lengths, np.int32)
  page_BM = table(SHAPE, len(length_B))
  kv = cache(SHAPE, page_BM, length_B)
  return queries(SHAPE, len(length_B)), kv, page_BM, length_B


@pytest.mark.parametrize("decode", [
    jitted(reference.paged_decode, scale=SCALE),
    jitted(tpu.paged_decode, scale=SCALE, interpret=True),
], ids=["reference", "tpu"])
def test_where_a_context_is_split_changes_nothing(decode):
  """Three parts, cut inside pages; some are empty for short contexts."""
  q_BNH, kv, page_BM, length_B = _problem()
  bounds = [np.minimum(length_B, n).astype(np.int32) for n in (0, 5, 21, 99)]
  parts = [
      decode(q_BNH, kv, page_BM, end_B, first_B=first_B)
      for first_B, end_B in zip(bounds, bounds[1:], strict=False)
  ]
  out_ZBNH, lse_ZBN = (
      jnp.stack(x) for x in zip(*parts, strict=True)
  )
  got = jax.jit(merge_states)(out_ZBNH, lse_ZBN)
  want = jitted(reference.paged_decode, scale=SCALE)(
      q_BNH, kv, page_BM, length_B
  )
  close(got[0], want[0], "float32")
  close(got[1], want[1], "float32")


def test_a_sink_is_one_more_score():
  """By hand: scores 0 and 0 with values 1 and 3, and a sink of log 2.

  Weights are 1/4, 1/4 and 1/2, so the output is 1.
  """
  out, lse = with_sink(
      jnp.full((1, 1, 1), 2.0), jnp.log(jnp.full((1, 1), 2.0)),
      jnp.log(jnp.array([2.0])),
  )
  np.testing.assert_allclose(out, 1.0, rtol=1e-6)
  np.testing.assert_allclose(lse, np.log(4.0), rtol=1e-6)


def test_a_sink_over_nothing():
  out, lse = with_sink(
      jnp.zeros((1, 1, 1)), jnp.full((1, 1), -jnp.inf), jnp.array([0.5])
  )
  assert out == 0 and lse == 0.5
