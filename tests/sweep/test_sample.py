"""Points drawn from a space."""

import pytest

from pdjax.sweep import axis, sample

SPACE = {
    "workload.rate": axis.span_of("workload.rate", "log(1,64)"),
    "strategy.chunk_size": axis.span_of("strategy.chunk_size", "lin(32,2048)"),
    "cluster.split": ("1P3D", "2P2D", "3P1D", "2P4D"),
}


def test_each_field_is_covered_evenly():
  columns = dict(sample.points(SPACE, 64))
  rates = columns["workload.rate"]
  assert all(1 <= rate <= 64 for rate in rates)
  # Even in the logarithm: as many between 1 and 8 as between 8 and 64.
  assert sum(rate < 8 for rate in rates) == 32
  chunks = columns["strategy.chunk_size"]
  assert all(isinstance(c, int) and 32 <= c <= 2048 for c in chunks)
  assert sum(chunk < 1040 for chunk in chunks) == 32
  splits = columns["cluster.split"]
  assert [splits.count(s) for s in SPACE["cluster.split"]] == [16] * 4
  # And two fields together: a quarter of the points in each quarter.
  low = sum(r < 8 and c < 1040 for r, c in zip(rates, chunks, strict=True))
  assert low == 16


def test_points_follow_from_their_seed_and_longer_ones_begin_alike():
  short, long = dict(sample.points(SPACE, 5)), dict(sample.points(SPACE, 40))
  assert all(long[path][:5] == values for path, values in short.items())
  assert sample.points(SPACE, 5) == sample.points(SPACE, 5)
  assert sample.points(SPACE, 5, seed=1) != sample.points(SPACE, 5)


@pytest.mark.parametrize("count", [0, -1, True, 2.0, "x", 10_001])
def test_a_count_that_is_none_is_one_line(count):
  errors = []
  assert sample.count_of("--sample", count, errors) is None
  (line,) = errors
  assert line.startswith("--sample: expected a number of points up to 10000")
