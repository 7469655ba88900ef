"""The numbers that a chart shows, as CSV."""

import csv
import io
import math
from typing import Any

from pdjax.report.chart import Chart


def text_of(chart: Chart) -> str:
  """A row a point; columns that no mark of the chart has are left out.

  The units of x and y are those of the axes, which the first line names.
  """
  rows = list(chart.rows())
  names = list(dict.fromkeys(name for row in rows for name in row))
  names = [n for n in names if any(_cell(row.get(n)) != "" for row in rows)]
  text = io.StringIO()
  for panel in chart.panels:
    heading = f"{panel.heading}: " if panel.heading else ""
    text.write(f"# {heading}x {panel.x.label}; y {panel.y.label}\n")
  writer = csv.writer(text, lineterminator="\n")
  writer.writerow(names)
  writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
  return text.getvalue()


def _cell(value: Any) -> str:
  if value is None or isinstance(value, float) and math.isnan(value):
    return ""
  return f"{value:.9g}" if isinstance(value, float) else str(value)
