"""Errors of readings, sets of scalars, and fits that find what was put in."""

import pytest

from pdjax.calibrate.published.readings import (
    Reading,
    ScalarSet,
    error_of,
    errors_of,
)
from pdjax.calibrate.scalarfit import fit_scalars
from pdjax.simulate.scalars import Scalars


def reading(price_ms, measured_ms, engine="", fitted=True, source="source"):
  return Reading(
      source=source, case="case", engine=engine, measured_ms=measured_ms,
      fitted=fitted, price_ms=price_ms,
  )


def test_errors_by_hand():
  errors = errors_of([0.1, -0.2, 0.3, -0.4, 0.0])
  assert errors.count == 5
  assert errors.median == pytest.approx(0.2)
  assert errors.p90 == pytest.approx(0.36)
  assert errors.mean == pytest.approx(0.2)
  assert errors.bias == 0.0
  assert error_of(reading(lambda s: 3.0, 2.0), Scalars()) == 0.5


def test_engines_override_hardware_and_that_what_is_assumed():
  scalars = ScalarSet(
      {"hbm_efficiency": 0.5}, {"slow": {"launch_s": 1e-5}}, 2
  )
  assumed = {"own_reduce_bytes": 0, "hbm_efficiency": 0.9}
  slow, other = scalars.of("slow", assumed), scalars.of("other", assumed)
  assert (slow.launch_s, slow.hbm_efficiency) == (1e-5, 0.5)
  assert (other.launch_s, other.own_reduce_bytes) == (0.0, 0)


def test_a_fit_finds_the_scalars_that_made_the_readings():
  """Two scalars of the hardware, one that two engines share."""
  def price_ms(work, steps):
    return lambda s: (
        work / s.hbm_efficiency
        + steps * 1e3 * (s.step_overhead_s + s.launch_s)
    )

  truth = {"": 0.0, "one": 2e-3, "other": 2e-3}
  readings = [
      reading(
          price, price(Scalars(
              hbm_efficiency=0.6, step_overhead_s=4e-3, launch_s=launch_s
          )), engine,
      )
      for engine, launch_s in truth.items()
      for price in (price_ms(10, 0), price_ms(0, 1), price_ms(10, 3))
  ]
  start = {
      "hbm_efficiency": 0.8, "step_overhead_s": 2e-3,
      "launch_s@one|other": 1e-3,
  }
  found = fit_scalars(readings, start, {}, evaluations=600)
  assert found.size == 3
  assert found.hardware["hbm_efficiency"] == pytest.approx(0.6, rel=0.02)
  assert found.hardware["step_overhead_s"] == pytest.approx(4e-3, rel=0.05)
  for engine in ("one", "other"):
    assert found.engines[engine]["launch_s"] == pytest.approx(2e-3, rel=0.1)


def test_what_is_not_fitted_has_no_say():
  wanted = reading(lambda s: 1 / s.hbm_efficiency, 2.0)
  other = reading(lambda s: 1 / s.hbm_efficiency, 1.0, fitted=False)
  found = fit_scalars([wanted, other], {"hbm_efficiency": 0.7}, {})
  assert found.hardware["hbm_efficiency"] == pytest.approx(0.5, rel=0.01)


def test_an_efficiency_stays_below_one():
  impossible = reading(lambda s: 1 / s.hbm_efficiency, 0.5)
  found = fit_scalars([impossible], {"hbm_efficiency": 0.7}, {})
  assert found.hardware["hbm_efficiency"] < 1
