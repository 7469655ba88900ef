"""The summary of `aiperf profile`: `profile_export_aiperf.csv` and `.json`.

Names as AIPerf 0.13 writes them. The CSV has two tables, a blank line between
them: distributions under `Metric,avg,min,...`, single values under
`Metric,Value`. The JSON has a metric's tag at its top level, with `unit` and
the same statistics.

Words differ from ours: AIPerf's inter token latency is one value a request,
our TPOT; its inter chunk latency is every gap, our ITL; its time to second
token counts from the first, our `itl_first`.
"""

import dataclasses

STATISTICS = (
    "avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90",
    "p95", "p99", "std",
)
"""Columns of the first table, after `Metric`."""

_UNWRITTEN = ("count", "requests")
"""Units that headings leave out."""


@dataclasses.dataclass(frozen=True, slots=True)
class Metric:
  """One of AIPerf's metrics, and what it is here."""

  tag: str
  """Its key in the JSON file."""
  header: str
  unit: str
  ours: str
  """A metric of ours for distributions, a field of `summary.json` otherwise."""

  @property
  def heading(self) -> str:
    """Its name in the CSV file."""
    if self.unit in _UNWRITTEN:
      return self.header
    return f"{self.header} ({self.unit})"


DISTRIBUTIONS = (
    Metric(
        "input_sequence_length", "Input Sequence Length", "tokens",
        "prompt_tokens",
    ),
    Metric("inter_chunk_latency", "Inter Chunk Latency", "ms", "itl"),
    Metric("inter_token_latency", "Inter Token Latency", "ms", "tpot"),
    Metric(
        "output_sequence_length", "Output Sequence Length", "tokens",
        "output_tokens",
    ),
    Metric("request_latency", "Request Latency", "ms", "e2el"),
    Metric("time_to_first_token", "Time to First Token", "ms", "ttft"),
    Metric("time_to_second_token", "Time to Second Token", "ms", "itl_first"),
)

SINGLES = (
    Metric("benchmark_duration", "Benchmark Duration", "sec", "duration"),
    Metric("error_request_count", "Error Request Count", "requests", "errors"),
    Metric(
        "good_request_fraction", "GoodRequestFraction", "ratio",
        "slo_attainment",
    ),
    Metric("goodput", "Goodput", "requests/sec", "request_goodput"),
    Metric(
        "output_token_throughput", "Output Token Throughput", "tokens/sec",
        "output_throughput",
    ),
    Metric("request_count", "Request Count", "requests", "completed"),
    Metric(
        "request_throughput", "Request Throughput", "requests/sec",
        "request_throughput",
    ),
    Metric(
        "total_isl", "Total Input Sequence Length", "tokens",
        "total_input_tokens",
    ),
    Metric(
        "total_osl", "Total Output Sequence Length", "tokens",
        "total_output_tokens",
    ),
    Metric(
        "total_token_throughput", "Total Token Throughput", "tokens/sec",
        "total_token_throughput",
    ),
)
"""`errors` is no field of ours: all requests that did not finish."""
