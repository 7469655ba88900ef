"""Reads guidellm's report: `benchmarks.json`, a benchmark for each load.

Names as guidellm 0.5 and 0.8 write them: `benchmarks` is a list; each has
`metrics`, distributions by status with `mean`, `median` and `percentiles`
(`p50`, `p90`, `p99`); `scheduler_metrics`, whose
`request_targeted_start_delay_avg` is in seconds; and `requests`, lists by
status that may be sampled. Its inter token latency is one value a request, our
TPOT.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pdjax.foreign.observed import Observed, Requests, number

_METRICS = {
    "time_to_first_token_ms": "ttft",
    "inter_token_latency_ms": "tpot",
    "request_latency": "e2el",
}
_SCALES = {"request_latency": 1000.0}
"""To milliseconds; of a metric in seconds."""


def is_guidellm(value: Any) -> bool:
  """Whether a JSON value looks like guidellm's report."""
  return isinstance(value, dict) and isinstance(value.get("benchmarks"), list)


def read(value: Mapping[str, Any], source: str) -> list[Observed]:
  """What each benchmark saw.

  Raises:
    ValueError: a benchmark is not of the form.
  """
  return [
      _benchmark(benchmark, f"{source}: guidellm, benchmark {number}")
      for number, benchmark in enumerate(value["benchmarks"], 1)
  ]


def _benchmark(benchmark: Any, source: str) -> Observed:
  if not isinstance(benchmark, dict) or not isinstance(
      metrics := benchmark.get("metrics"), dict
  ):
    raise ValueError(f"{source}: no metrics")
  figures: dict[str, float] = {}
  for theirs, ours in _METRICS.items():
    told = _inner(metrics, theirs, "successful")
    places = {
        "mean": told, "median": told, **dict.fromkeys(
            ("p90", "p99"), _inner(told, "percentiles")
        ),
    }
    for name, place in places.items():
      found = number(place.get(name))
      if found is not None:
        key = f"{'p50' if name == 'median' else name}_{ours}_ms"
        figures[key] = found * _SCALES.get(theirs, 1.0)
  late_s = number(
      _inner(benchmark, "scheduler_metrics").get(
          "request_targeted_start_delay_avg"
      )
  )
  if late_s is not None:
    figures["mean_lag_ms"] = 1000 * late_s
  totals = _inner(metrics, "request_totals")
  completed = number(totals.get("successful"))
  return Observed(
      source=source,
      completed=None if completed is None else int(completed),
      failed=int(number(totals.get("errored")) or 0),
      figures=figures,
      requests=_requests(benchmark, completed),
  )


def _inner(value: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
  for name in names:
    found = value.get(name)
    value = found if isinstance(found, dict) else {}
  return value


def _requests(
    benchmark: Mapping[str, Any], completed: float | None
) -> Requests | None:
  """Its requests, if all of them are there."""
  rows = _inner(benchmark, "requests").get("successful")
  if not isinstance(rows, list) or len(rows) != completed or not rows:
    return None

  def column(name: str, scale: float = 1.0) -> np.ndarray | None:
    values = [
        number(row.get(name)) if isinstance(row, dict) else None
        for row in rows
    ]
    if None in values:
      return None
    return scale * np.array(values, float)

  ttft_ms = column("time_to_first_token_ms")
  if ttft_ms is None:
    return None
  return Requests(
      ttft_ms=ttft_ms,
      start_s=column("request_start_time"),
      tpot_ms=column("inter_token_latency_ms"),
      e2el_ms=column("request_latency", 1000.0),
      prompt_tokens=column("prompt_tokens"),
  )
