"""Panels are drawn whole: marks inside, ticks apart, hollow points hollow."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from pdjax.report import datafile, svg
from pdjax.report.chart import (
  Arrows,
  Axis,
  Bars,
  Chart,
  Heat,
  Limit,
  Line,
  Panel,
  Spans,
  array,
)
from pdjax.report.scale import Scale, scales_of


def lines(**said) -> Panel:
  line = Line(
      label="a & b", style=1, x=array([1, 2, 4]), y=array([10, None, 90]),
      hollow=np.array([False, False, True]),
  )
  return Panel(
      x=Axis(label="rate <1>"), y=Axis(label="ms", log=True), marks=(line,),
      **said,
  )


ROWS = Panel(
    x=Axis(label="s"), y=Axis(label="", names=("P0", "D1", "a" * 60)),
    marks=(
        Spans(label="prefill", style=0, row=np.array([0]), begin=array([0]),
              end=array([1])),
        Bars(label="bar", style=2, row=np.array([1]), begin=array([0]),
             end=array([2]), hollow=np.array([True]), low=array([1.5]),
             high=array([2.5])),
        Arrows(label="", x0=array([1]), row0=np.array([0]), x1=array([1]),
               row1=np.array([1])),
    ),
)
HEAT = Heat(
    label="share", level=0.9, hollow=np.array([[False, True], [False, False]]),
    values=np.array([[1.0, 0.5], [np.nan, 0.95]]),
)
MAP = Panel(
    x=Axis(label="rate", names=("1", "2")),
    y=Axis(label="chunk", names=("512", "256")), marks=(HEAT,),
)


@pytest.mark.parametrize(
    "panel", [lines(), ROWS, MAP], ids=["xy", "row", "map"]
)
@pytest.mark.parametrize("wide", [False, True])
def test_is_whole_xml_within_its_box(panel, wide):
  root = ET.fromstring(svg.drawn(panel, wide=wide))
  _, _, width, height = map(float, root.attrib["viewBox"].split())
  for element in root.iter():
    for name, most in (("x", width), ("cx", width), ("y", height)):
      if name in element.attrib:
        assert 0 <= float(element.attrib[name]) <= most, element.attrib


def test_flagged_points_are_hollow_and_missing_ones_left_out():
  text = svg.drawn(lines())
  assert text.count('class="point s1"') == 1
  assert text.count('class="hollow s1"') == 1
  assert "a &amp; b" in text and "rate &lt;1&gt;" in text
  # Not joined across the gap: two paths begin.
  assert re.search(r'class="line s1"', text) and "L" not in re.search(
      r'<path d="([^"]*)" class="line', text
  )[1]


def test_limits_are_drawn_where_they_are_on_the_panel():
  limit = Limit(along="y", at=200, label="SLO")
  assert "SLO" in svg.drawn(lines(limits=(limit,)))
  linear = Panel(
      x=Axis(label=""), y=Axis(label=""), limits=(limit,),
      marks=(Line(label="", style=0, x=array([0, 1]), y=array([0, 1])),),
  )
  assert "SLO" not in svg.drawn(linear)  # far off: it would squeeze the line


def test_the_border_of_a_map_separates_the_level():
  assert list(HEAT.borders()) == [(0.5, -0.5, 0.5, 0.5), (0.5, 0.5, 1.5, 0.5)]


@pytest.mark.parametrize("low, high", [
    (0, 1), (0.001, 0.0012), (1e-6, 1e6), (3, 3.0001), (0, 12345), (7, 80),
])
@pytest.mark.parametrize("log", [False, True])
def test_ticks_lie_on_the_axis_and_are_few(low, high, log):
  scale = Scale(low=low or (0.1 if log else 0), high=high, log=log)
  for most in (3, 6):
    ticks = scale.ticks(most)
    assert 1 <= len(ticks) <= most + 1
    assert len({name for _, name in ticks}) == len(ticks)
    for at, _ in ticks:
      assert -1e-6 <= float(scale.place(at)) <= 1 + 1e-6


def test_scales_hold_intervals_and_named_rows():
  x, y = scales_of(ROWS)
  assert x.high > 2.5 and (y.low, y.high) == (-0.5, 2.5)


def test_data_files_hold_what_is_drawn():
  chart = Chart(name="x", title="", answers="", kind="simulated",
                panels=(lines(title="TTFT"), ROWS, MAP))
  text = datafile.text_of(chart)
  assert "# TTFT: x rate <1>; y ms" in text
  rows = [line for line in text.splitlines() if line[:1] != "#"]
  assert len(rows) == 1 + 3 + 1 + 1 + 1 + 4
  assert "simulated,TTFT,a & b,4,90" in text and ",True" in text
