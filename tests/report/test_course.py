"""A run over time shows what moved, and how long nothing did."""

import types

import numpy as np
import pytest

from pdjax.report import course
from pdjax.report.life import Life
from pdjax.timeline.activity import Activity, Moved
from pdjax.timeline.gauges import Gauges

STUDY = types.SimpleNamespace(kind="simulated")


def life(moves, end_ns, handoffs=0):
  one = np.array([[0, 0], [1, 2]])
  waits = np.array([[0, 0], [handoffs, 0]])
  return Life(
      record=None, samples={},
      activity=Activity(("P0", "D1"), (), tuple(moves), (), end_ns),
      gauges=Gauges(np.array([0, 5]), one, waits, one, one + 8),
  )


def moved(begin_ns, end_ns, size):
  return Moved(0, 0, 0, 1, begin_ns, None, None, end_ns, size, "")


def test_bytes_on_links_are_means_that_add_up_to_what_moved():
  end_ns = 1_000_000
  told = life([moved(10, 2010, 4000), moved(1010, 3010, 8000)], end_ns)
  chart = course.chart(STUDY, "1P1D", told)
  (line,) = chart.panels[-1].marks
  assert chart.panels[-1].title == "bytes on links"
  assert sum(line.y[:-1] * np.diff(line.x)) * 1e9 == pytest.approx(12000)
  assert line.y.max() <= 4 and line.y[-1] == 0
  assert "0.3 % of the run, at 4 GB/s at most" in chart.notes[-1]


def test_without_a_byte_moved_there_is_no_link_to_show():
  chart = course.chart(STUDY, "2C", life([], 1000))
  assert [panel.title for panel in chart.panels] == [
      "waiting requests", "requests in a step", "free pages (%)",
  ]


def test_what_waits_for_a_place_on_d_is_a_line_of_the_queue():
  chart = course.chart(STUDY, "1P1D", life([], 1000, handoffs=7))
  named = {line.label: line.y.tolist() for line in chart.panels[0].marks}
  assert named["waiting for D"] == [0, 7] and named["D workers"] == [0, 2]
  assert any("no place on D yet" in note for note in chart.notes)
  idle = course.chart(STUDY, "1P1D", life([], 1000))
  assert "waiting for D" not in [m.label for m in idle.panels[0].marks]
