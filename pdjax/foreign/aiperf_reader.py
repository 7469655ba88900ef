"""Reads AIPerf's summary, CSV or JSON; names in `pdjax.foreign.aiperf`."""

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from pdjax.foreign.aiperf import DISTRIBUTIONS, SINGLES, Metric
from pdjax.foreign.observed import METRICS, Observed, number

_STATISTICS = {"avg": "mean", "p50": "p50", "p90": "p90", "p99": "p99"}


def is_csv(text: str) -> bool:
  """Whether a CSV file begins as AIPerf's does."""
  return text.startswith("Metric,avg,")


def is_json(value: Any) -> bool:
  """Whether a JSON value looks like AIPerf's summary."""
  return isinstance(value, dict) and isinstance(
      value.get("request_latency"), dict
  ) and "unit" in value["request_latency"]


def read_json(value: Mapping[str, Any], source: str) -> Observed:
  """What AIPerf saw, from `profile_export_aiperf.json`."""
  told = {
      metric: value[metric.tag]
      for metric in (*DISTRIBUTIONS, *SINGLES)
      if isinstance(value.get(metric.tag), dict)
  }
  return _observed(told, source)


def read_csv(text: str, source: str) -> Observed:
  """What AIPerf saw, from `profile_export_aiperf.csv`."""
  headings = {metric.heading: metric for metric in (*DISTRIBUTIONS, *SINGLES)}
  told = {
      headings[name]: row for name, row in _rows(text) if name in headings
  }
  return _observed(told, source)


def _rows(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
  """(heading, statistics) of both tables; a single value is its `avg`."""
  names: list[str] = []
  for row in csv.reader(io.StringIO(text)):
    if not row:
      continue
    if row[0] == "Metric":
      names = ["avg" if name == "Value" else name for name in row[1:]]
      continue
    yield row[0], dict(zip(names, map(_value, row[1:]), strict=False))


def _value(text: str) -> float | None:
  try:
    return float(text.replace(",", ""))
  except ValueError:
    return None


def _observed(
    told: Mapping[Metric, Mapping[str, Any]], source: str
) -> Observed:
  figures = {}
  counts = {}
  for metric, statistics in told.items():
    if metric in SINGLES:
      counts[metric.ours] = number(statistics.get("avg"))
    elif metric.ours in METRICS:
      for theirs, ours in _STATISTICS.items():
        found = number(statistics.get(theirs))
        if found is not None:
          figures[f"{ours}_{metric.ours}_ms"] = found
  completed = counts.get("completed")
  return Observed(
      source=f"{source}: AIPerf's summary",
      completed=None if completed is None else int(completed),
      failed=int(counts.get("errors") or 0),
      figures=figures,
  )
