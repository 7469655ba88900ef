"""Decodes together, what XLA runs on a CPU, against the reference."""

import numpy as np
import pytest
from pdjax_kernels import xla
from pdjax_kernels.paged_decode import reference

from tests.kernels.problems import (
    SCALE,
    Shape,
    cache,
    close,
    jitted,
    queries,
    table,
)

LONG = 150
MIXES = {
    "one": (LONG,),
    "one_long_among_short": (3, 1, LONG, 2, 0, 64, 65, 1),
    "all_alike": (70,) * 8,
    "read_in_two_goes": (LONG,) * 12,
    "every_end": (5,) * 9 + (LONG, 0, 1, 63, 64, 65, 128, 129, 2, 3, 127, 0),
    "nothing": (0,) * 5,
}
"""Lengths; stretches of context are 64 tokens, of which 16 are read at once."""


@pytest.mark.parametrize("features", [
    {}, {"window": 19}, {"window": 70, "soft_cap": 2.0},
], ids=["plain", "window", "cap"])
@pytest.mark.parametrize("lengths", MIXES.values(), ids=MIXES)
def test_agrees_with_the_reference(lengths, features):
  shape = Shape(N=4, K=2, H=16, C=8, M=20)
  length_B = np.array(lengths, np.int32)
  page_BM = table(shape, len(lengths))
  problem = (
      queries(shape, len(lengths)), cache(shape, page_BM, length_B), page_BM,
      length_B,
  )
  got = jitted(xla.paged_decode, scale=SCALE, **features)(*problem)
  want = jitted(reference.paged_decode, scale=SCALE, **features)(*problem)
  close(got[0], want[0], "float32")
  close(got[1], want[1], "float32")
  assert not np.asarray(got[0])[length_B == 0].any()
