"""Published files are read, priced, and not far off without any fit."""

import pytest

from pdjax.calibrate.published import pd_trade, sources
from pdjax.calibrate.published.readings import ScalarSet, error_of, errors_of
from pdjax.simulate.chips import CHIPS
from pdjax.simulate.fitted import fitted_for
from pdjax.simulate.scalars import Scalars

pytestmark = pytest.mark.data


@pytest.fixture(scope="module", name="a100")
def _a100(data_dir):
  return sources.a100(data_dir)


def errors(kind, source, fitted=None):
  """With what is assumed of each reading's engine, or with fitted scalars."""
  return errors_of([
      error_of(
          reading,
          fitted or ScalarSet().of(
              reading.engine, kind.assumed.get(reading.engine, {})
          ),
      )
      for reading in kind.readings
      if reading.source == source and not reading.fitted
  ])


def test_every_source_has_a_part_to_fit_and_one_to_test(a100, data_dir):
  h100 = sources.h100(data_dir)
  for kind in (a100, h100):
    assert len(kind.start) <= sources.MOST_SCALARS
    parts = {(r.source, r.fitted) for r in kind.readings}
    for source, _ in parts:
      assert (source, False) in parts
      assert (source, True) in parts


def test_first_principles_are_within_plain_bounds(a100):
  for source, bound in (("layer times", 0.1), ("DistServe decode", 0.2),
                        ("DistServe prefill", 0.2)):
    assert errors(a100, source).median < bound, source


def test_fitted_scalars_are_nearer(a100):
  fitted = fitted_for(CHIPS["a100-80gb-sxm"]).scalars
  for source in ("layer times", "DistServe decode", "all_reduce, one host"):
    plain = errors(a100, source).median
    assert errors(a100, source, fitted).median < plain, source


def test_closed_loop_on_h100(data_dir):
  """Four users: quick to simulate, and weights decide."""
  readings = [
      reading for reading in sources.h100(data_dir).readings
      if ", 4 users" in reading.case and "TPOT" in reading.source
  ]
  assert errors_of([error_of(r, Scalars()) for r in readings]).mean < 0.15


def test_the_trade_has_the_published_order(data_dir):
  path = data_dir / "measured/pd_vs_agg_a10.csv"
  by_name = {figure.name: figure for figure in pd_trade.compare(path)}
  for name in ("TTFT p99, ms", "ITL mean, ms", "e2e mean, ms"):
    assert by_name[name].same_order, name
