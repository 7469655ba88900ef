"""A run in the form of AIPerf's `profile_export_aiperf.csv`.

Distributions are of finished requests. A percentile that so few values do not
support is empty, the low ones like the high ones.
"""

import csv
import io
import numbers
from typing import Any

from pdjax.foreign import aiperf
from pdjax.foreign.served import Served
from pdjax.foreign.vllm_writer import standard_deviation
from pdjax.metrics.percentiles import needed
from pdjax.metrics.weighted import Weighted

_MS = 1e6


def csv_text(served: Served) -> str:
  """The file's text."""
  text = io.StringIO()
  writer = csv.writer(text)
  writer.writerow(["Metric", *aiperf.STATISTICS])
  for metric in aiperf.DISTRIBUTIONS:
    sample, scale = _sample(served, metric)
    if sample.total:
      writer.writerow([
          metric.heading,
          *(_shown(_statistic(name, sample), scale)
            for name in aiperf.STATISTICS),
      ])
  writer.writerow([])
  writer.writerow(["Metric", "Value"])
  for metric in aiperf.SINGLES:
    value = _single(served, metric.ours)
    if value is not None:
      writer.writerow([metric.heading, _shown(value)])
  return text.getvalue()


def _sample(
    served: Served, metric: aiperf.Metric
) -> tuple[Weighted, float]:
  """Values, and what they are to be divided by."""
  if metric.unit == "ms":
    return served.table.sample(metric.ours), _MS
  return Weighted.of(served.table[metric.ours][served.table.finished]), 1


def _single(served: Served, name: str) -> Any:
  if name == "errors":
    return served.unfinished
  return served.summary.get(name)


def _statistic(name: str, sample: Weighted) -> float | None:
  match name:
    case "avg":
      return sample.mean()
    case "min":
      return float(sample.values[0])
    case "max":
      return sample.max()
    case "sum":
      return float(sample.values @ sample.count)
    case "std":
      return standard_deviation(sample)
  percent = float(name.removeprefix("p"))
  if len(sample.values) < needed(max(percent, 100 - percent)):
    return None
  return sample.percentile(percent)


def _shown(value: Any, scale: float = 1) -> str:
  """As AIPerf writes numbers: whole ones whole, others to two places."""
  if value is None:
    return ""
  if isinstance(value, numbers.Integral):
    return str(int(value))
  return f"{value / scale:.2f}"
