"""Figures are written whole, show every run, and are the same twice."""

import numpy as np
import pytest

from pdjax.config import SLO
from pdjax.metrics.requests import request_table
from pdjax.metrics.weighted import Weighted
from pdjax.report.plots import LatencySeries, cdf, latency_cdfs
from tests.metrics.scripted import hand_made

SLO_ = SLO(ttft_s=5e-6, terms=(("itl", "p99", "run", 6e-6),))


def _series(label: str, kind: str = "simulated", **said) -> LatencySeries:
  return LatencySeries.of(label, kind, request_table(hand_made()), **said)


def test_writes_png_and_svg_with_runs_and_limits(tmp_path):
  runs = [_series("one"), _series("two", "measured", flagged=True)]
  png, svg = latency_cdfs(runs, SLO_, tmp_path / "figures" / "cdf", "tiny")
  assert png.read_bytes().startswith(b"\x89PNG")
  text = svg.read_text()
  for words in (
      "SIMULATED and MEASURED: tiny", "one (simulated)",
      "two (measured, flagged)", "SLO ttft &lt;= 5e-06 s",
      "SLO p99 itl &lt;= 6e-06 s", "time per output token (ms)",
  ):
    assert f"<!-- {words} -->" in text


def test_same_data_same_bytes(tmp_path):
  first = latency_cdfs([_series("a")], SLO_, tmp_path / "x")
  second = latency_cdfs([_series("a")], SLO_, tmp_path / "y")
  for ours, theirs in zip(first, second, strict=True):
    assert ours.read_bytes() == theirs.read_bytes()


def test_empty_run_and_too_many(tmp_path):
  nothing = {m: Weighted.of(np.empty(0)) for m in ("ttft", "tpot", "itl")}
  empty = LatencySeries(label="e", kind="measured", samples=nothing)
  assert len(latency_cdfs([empty], SLO(), tmp_path / "x")) == 2
  with pytest.raises(ValueError, match="at most 7"):
    latency_cdfs([empty] * 8, SLO(), tmp_path / "y")


def test_cdf_by_hand():
  sample = Weighted.of(np.array([1_000_000, 3_000_000]), np.array([3, 1]))
  values_ms, share = cdf(sample)
  assert values_ms.tolist() == [1, 1, 3]
  assert share.tolist() == [0, 0.75, 1]


def test_long_curves_are_thinned_but_reach_the_end():
  values_ms, share = cdf(Weighted.of(np.arange(10**5)))
  assert len(values_ms) <= 2001
  assert values_ms[-1] == (10**5 - 1) / 1e6 and share[-1] == 1
