"""Captions say which bars are drawn, and at which load a curve was had."""

import types

import pytest

from pdjax.report import distributions, goodput, rates
from pdjax.report.capacity import goodput_of
from pdjax.report.study import studies_of
from tests.report.test_verdict import run


def noted(seeds, **said):
  (study,) = studies_of([
      run("chunked", rate, 0.9, seed, **said)
      for rate in (10, 20) for seed in range(seeds)
  ])
  return " ".join(rates.attainment(study, study.designs).notes)


@pytest.mark.parametrize("seeds, said", [
    (2, "none has bars: 95 % intervals take 3 seeds"),
    (3, "bars, of points of 3 seeds or more, 95 % intervals"),
])
def test_bars_are_promised_where_they_are_drawn(seeds, said):
  assert said in noted(seeds) and "batches" not in noted(seeds)


def test_bars_of_one_run_are_its_own():
  assert noted(1) == ""
  own = noted(1, slo_attainment_low=0.8, slo_attainment_high=0.95)
  assert "that run's own batches" in own


def test_latencies_name_their_load():
  def loads(*rates_per_s):
    return distributions._loads([
        (f"d{n}", n, types.SimpleNamespace(record=run("chunked", rate, 0.9)))
        for n, rate in enumerate(rates_per_s)
    ])

  assert loads(10, 10) == "One run of each design, at 5 requests/s/chip."
  assert "at 5 requests/s/chip: d0; at 10 requests/s/chip: d1" in loads(10, 20)


def test_a_design_that_missed_the_slo_at_the_one_rate_is_marked():
  def chart(*shares):
    kinds = ("chunked", "disaggregated")
    (study,) = studies_of([
        run(kind, 10, share, seed, goodput=goodput)
        for seed in range(2)
        for kind, share, goodput in zip(kinds, shares, (4, 9), strict=True)
    ])
    found = [goodput_of(study, design) for design in study.designs]
    return goodput.chart(study, found, study.designs)

  mixed = chart(0.95, 0.6)
  assert mixed.panels[0].y.names == ("1P1D (missed)", "2C")
  assert "(missed): at this rate" in " ".join(mixed.notes)
  assert [row["row"] for row in mixed.rows()] == ["1P1D (missed)", "2C"]
  good = chart(0.95, 0.96)
  assert good.panels[0].y.names == ("1P1D", "2C")
  assert "missed" not in " ".join(good.notes)


def test_under_rates_the_line_to_the_missed_one_is_the_mark():
  (study,) = studies_of([
      run("chunked", rate, 0.5) for rate in (10, 20)
  ])
  found = [goodput_of(study, design) for design in study.designs]
  chart = goodput.chart(study, found, study.designs)
  assert "(missed)" not in chart.panels[0].y.names[0]
  assert "lowest rate that missed the SLO" in " ".join(chart.notes)
