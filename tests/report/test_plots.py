"""Figures are written whole, show every run, and are the same twice."""

import itertools

import numpy as np
import pytest

from pdjax.config import SLO
from pdjax.metrics.requests import request_table
from pdjax.metrics.weighted import Weighted
from pdjax.report import plots
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


def _drawn(tmp_path, monkeypatch, runs, slo=SLO_):
  """The figure that would be saved."""
  kept = []
  monkeypatch.setattr(plots, "_save", lambda figure, stem: kept.append(figure))
  latency_cdfs(runs, slo, tmp_path / "x", "a title")
  (figure,) = kept
  figure.draw_without_rendering()
  return figure


def _inside(part, whole) -> bool:
  x0, y0, x1, y1 = part.extents
  return x0 >= 0 and y0 >= 0 and x1 <= whole.x1 and y1 <= whole.y1


def test_a_legend_of_seven_long_names_is_whole(tmp_path, monkeypatch):
  runs = [_series(f"strategy {n} " + "word " * 9, flagged=True)
          for n in range(7)]
  figure = _drawn(tmp_path, monkeypatch, runs)
  (legend,) = figure.legends
  box = legend.get_window_extent()
  assert _inside(box, figure.bbox)
  assert not any(box.overlaps(a.get_window_extent()) for a in figure.axes)


def test_tick_labels_and_limits_keep_clear(tmp_path, monkeypatch):
  wide = Weighted.of(np.geomspace(1e5, 1e11, 50))
  samples = dict.fromkeys(("ttft", "tpot", "itl"), wide)
  run = LatencySeries(label="a", kind="measured", samples=samples)
  figure = _drawn(tmp_path, monkeypatch, [run])
  for panel in figure.axes:
    low, high = panel.get_xlim()
    boxes = [
        label.get_window_extent()
        for at, label in zip(
            panel.get_xticks(), panel.get_xticklabels(), strict=True
        )
        if low <= at <= high
    ]
    assert len(boxes) > 2
    assert all(
        a.x1 < b.x0 for a, b in itertools.pairwise(boxes)
    )
    for limit in panel.texts:
      bottom = limit.get_window_extent().y0
      assert bottom >= panel.get_window_extent().y1


def test_a_style_is_kept_over_figures(tmp_path, monkeypatch):
  def look(runs):
    line = _drawn(tmp_path, monkeypatch, runs, SLO()).axes[0].lines[-1]
    return line.get_color()

  first = look([_series("x", style=0), _series("a", style=3)])
  assert look([_series("a", style=3)]) == first
  assert look([_series("b", style=4)]) != first


def test_cdf_by_hand():
  sample = Weighted.of(np.array([1_000_000, 3_000_000]), np.array([3, 1]))
  values_ms, share = cdf(sample)
  assert values_ms.tolist() == [1, 1, 3]
  assert share.tolist() == [0, 0.75, 1]


def test_long_curves_are_thinned_but_reach_the_end():
  values_ms, share = cdf(Weighted.of(np.arange(10**5)))
  assert len(values_ms) <= 2001
  assert values_ms[-1] == (10**5 - 1) / 1e6 and share[-1] == 1
