"""The result file of `vllm bench serve`: one JSON object a run.

Names as vLLM 0.33 writes them (`--save-result`, with `--save-detailed` the
lists too); most are those of our `summary.json` already.

Units: `_ms` milliseconds, `duration` and all lists of times seconds,
throughputs per second.
"""

METRICS = ("ttft", "tpot", "itl", "e2el")
"""Each has a mean, a median, a standard deviation and percentiles. `tpot` is
one value a request, `itl` pools every gap; clocks start at dispatch, not at the
intended arrival."""

STATISTICS = ("mean", "median", "std")
"""Beside `p99` or whatever `--metric-percentiles` asked for."""

SCALARS = (
    "duration", "completed", "failed", "total_input_tokens",
    "total_output_tokens", "request_throughput", "request_goodput",
    "output_throughput", "total_token_throughput", "max_output_tokens_per_s",
    "max_concurrent_requests",
)
"""Also in every file. `request_goodput` is null without `--goodput`."""

SETTINGS = (
    "date", "endpoint_type", "backend", "label", "model_id", "tokenizer_id",
    "num_prompts", "request_rate", "burstiness", "max_concurrency",
)
"""What the benchmark was asked for; `request_rate` may be the word `inf`."""

DETAILS = (
    "input_lens", "output_lens", "ttfts", "itls", "latencies", "start_times",
    "generated_texts", "errors",
)
"""Lists with one entry a request, in order of sending; `itls` has a list of
gaps a request. A failed request has output length 0 and a text in `errors`."""


def statistic(name: str, metric: str) -> str:
  """The key of a statistic of a metric.

  >>> statistic("p99", "ttft")
  'p99_ttft_ms'
  """
  return f"{name}_{metric}_ms"
