"""Tables say what they show, stay narrow, and never mix kinds."""

import dataclasses

import pytest

from pdjax import config
from pdjax.metrics.conditions import conditions
from pdjax.metrics.requests import request_table
from pdjax.metrics.summary import summarize
from pdjax.report.tables import (
  WIDTH,
  ReportedRun,
  comparison,
  latency_table,
)
from tests.metrics.scripted import hand_made

RUN = config.Run(
    cluster=config.Cluster(split="1P1D1C", chip="h100-sxm"),
    slo=config.SLO(ttft_s=0.4),
)
WORKLOAD = {"kind": "synthetic", "arrival": "poisson", "rate_per_s": 4.0}


def _reported(label: str, kind: str = "simulated", **change) -> ReportedRun:
  backend = config.Backend(kind="jax" if kind == "measured" else "simulated")
  run = dataclasses.replace(RUN, backend=backend, **change)
  return ReportedRun(
      label=label,
      summary=summarize(request_table(hand_made()), run),
      conditions=conditions(run, WORKLOAD, notes=["devices share 2 cores"]),
  )


def test_first_line_says_kind_and_conditions():
  lines = comparison([_reported("a"), _reported("b")]).splitlines()
  assert lines[0].startswith("SIMULATED  llama-3-8b bfloat16; 3 x h100-sxm")
  heading = " ".join(" ".join(lines[:4]).split())
  for part in ("5 requests", "poisson 4/s", "ttft <= 0.4 s", "share 2 cores"):
    assert part in heading
  assert "NOT COMPARABLE" not in heading


def test_kinds_get_blocks_of_their_own():
  text = comparison([_reported("sim"), _reported("mes", "measured")])
  measured, simulated = text.split("SIMULATED")
  assert measured.startswith("MEASURED")
  assert "\nmes" in measured and "\nsim" not in measured
  assert "\nsim" in simulated and "\nmes" not in simulated


def test_unequal_contracts_are_marked():
  other = _reported("b", slo=config.SLO(ttft_s=0.5))
  text = comparison([_reported("a"), other])
  assert "NOT COMPARABLE  runs differ in slo" in text


def test_flags_stand_under_the_numbers():
  assert "! a: p99 from 3 requests" in comparison([_reported("a")])


def test_narrow_and_aligned():
  long = _reported("a label that is longer than its column")
  text = comparison([_reported("a"), long])
  assert max(map(len, text.splitlines())) <= WIDTH
  rows = latency_table([_reported("a"), long]).splitlines()
  assert len({len(row) for row in rows[1:]}) == 1


@pytest.mark.parametrize(
    ("value_ms", "shown"),
    [
        (None, "-"), (0.0, "0.00"), (0.001, "1e-03"), (1.234, "1.23"),
        (12.34, "12.3"), (123.4, "123"), (999999, "999999"), (2e6, "2e+06"),
    ],
)
def test_numbers_keep_their_digits(value_ms, shown):
  run = _reported("a")
  summary = {**run.summary, "p50_ttft_ms": value_ms}
  row = latency_table([dataclasses.replace(run, summary=summary)])
  assert row.splitlines()[2].split()[1] == shown
