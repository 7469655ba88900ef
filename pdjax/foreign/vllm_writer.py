"""Runs in the form of `vllm bench serve --save-result`.

A run's time starts at 0 and a request at its intended arrival; vLLM's clock
starts when a request is sent. A request that did not finish is a failed one
with its state as the error, and answers have no text. What is beyond vLLM's
keys comes after them: `kind`, `chips` and the config by dotted field, so that
its plots can group by any of them.
"""

import datetime
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from pdjax.foreign import vllm
from pdjax.foreign.served import Served, gaps_ns
from pdjax.metrics.weighted import Weighted

_NS = 1e9
_OURS = ("kind", "chips", "first_token_anchor", "slo_attainment", "doubtful")


def result(served: Served, *, detailed: bool = True) -> dict[str, Any]:
  """One run's file.

  Args:
    detailed: with the lists that have an entry a request.
  """
  gaps, counts = gaps_ns(served.table)
  row = _settings(served) | _scalars(served, gaps, counts) | _latencies(served)
  row |= {name: served.summary.get(name) for name in _OURS}
  row |= {
      name: value for name, value in served.summary.items()
      if "." in name and not isinstance(value, dict | list)
  }
  return {**row, **(_details(served, gaps, counts) if detailed else {})}


def _settings(served: Served) -> dict[str, Any]:
  workload = served.run.workload
  return {
      "date": _date(served.started),
      "endpoint_type": "pdjax",
      "backend": "pdjax",
      "label": served.label,
      "model_id": served.run.model.preset,
      "tokenizer_id": None,
      "num_prompts": served.summary["sent"],
      "request_rate": _rate(served),
      "burstiness": _burstiness(workload.arrival, workload.arrival_cv),
      "max_concurrency": workload.concurrency,
  }


def _date(started: str | None) -> str | None:
  if started is None:
    return None
  return datetime.datetime.fromisoformat(started).strftime("%Y%m%d-%H%M%S")


def _rate(served: Served) -> float | str | None:
  """What was asked for, what a trace has, or vLLM's word for all at once."""
  if served.run.workload.arrival == "all_at_once":
    return "inf"
  return served.run.workload.rate or served.summary.get("offered_rate")


def _burstiness(arrival: str | None, cv: float | None) -> float | None:
  """vLLM's is the shape of a gamma law of gaps: 1 / cv squared."""
  if arrival == "poisson":
    return 1.0
  return cv**-2 if arrival == "gamma" and cv else None


def _scalars(
    served: Served, gaps: np.ndarray, counts: np.ndarray
) -> dict[str, Any]:
  tokens_per_s, concurrent = _peaks(served, gaps, counts)
  peaks = {
      "max_output_tokens_per_s": tokens_per_s,
      "max_concurrent_requests": concurrent,
      "failed": served.unfinished,
  }
  return {
      name: peaks.get(name, served.summary.get(name)) for name in vllm.SCALARS
  }


def _peaks(
    served: Served, gaps: np.ndarray, counts: np.ndarray
) -> tuple[float, int]:
  """Most tokens in one second, and most requests alive in one.

  Seconds are counted from the first arrival of a request that finished; a
  request is alive in every second that it touches.
  """
  table, done = served.table, served.table.finished
  if not done.any():
    return 0.0, 0
  begin_ns = table["arrival_ns"][done]
  zero_ns = int(begin_ns.min())
  end_ns = np.ma.getdata(table["ended_ns"])[done]
  made_ns = _token_times(served, gaps, counts)
  tokens = np.bincount(((made_ns - zero_ns) // 10**9).astype(int))
  first, last = ((at - zero_ns) // 10**9 for at in (begin_ns, end_ns))
  size = int(last.max()) + 2
  alive = np.bincount(first, minlength=size) - np.bincount(
      last + 1, minlength=size
  )
  return float(tokens.max()), int(np.cumsum(alive).max())


def _token_times(
    served: Served, gaps: np.ndarray, counts: np.ndarray
) -> np.ndarray:
  """Of every token of the requests that finished."""
  done = served.table.finished
  first_ns = np.ma.getdata(served.table["first_token_ns"])[done]
  spans = np.split(gaps, np.cumsum(counts[done])[:-1])
  return np.concatenate([
      first + np.concatenate([[0], np.cumsum(span)])
      for first, span in zip(first_ns, spans, strict=True)
  ])


def _latencies(served: Served) -> dict[str, float | None]:
  row: dict[str, float | None] = {}
  for metric in vllm.METRICS:
    row |= {
        vllm.statistic(name, metric): served.summary.get(
            vllm.statistic(name, metric)
        )
        for name in ("mean", "median")
    }
    spread = standard_deviation(served.table.sample(metric))
    row[vllm.statistic("std", metric)] = spread and spread / 1e6
    row |= {
        key: served.summary.get(key)
        for key in (vllm.statistic(f"p{at}", metric) for at in (50, 90, 99))
    }
  return row


def standard_deviation(sample: Weighted) -> float | None:
  """Of the whole sample, as vLLM and AIPerf take it (ddof 0)."""
  mean = sample.mean()
  if mean is None:
    return None
  squares = float(np.dot((sample.values - mean) ** 2, sample.count))
  return math.sqrt(squares / sample.total)


def _details(
    served: Served, gaps: np.ndarray, counts: np.ndarray
) -> Mapping[str, list[Any]]:
  table, done = served.table, served.table.finished
  spans = np.split(gaps / _NS, np.cumsum(counts)[:-1])
  return {
      "input_lens": table["prompt_tokens"].tolist(),
      "output_lens": np.where(done, table["output_tokens"], 0).tolist(),
      "ttfts": _seconds(table["ttft_ns"], done),
      "itls": [span.tolist() for span in spans],
      "latencies": _seconds(table["e2el_ns"], done),
      "start_times": (table["arrival_ns"] / _NS).tolist(),
      "generated_texts": [""] * len(table),
      "errors": ["" if ok else str(state) for ok, state in zip(
          done, table["state"], strict=True,
      )],
  }


def _seconds(column_ns: np.ndarray, done: np.ndarray) -> list[float]:
  """Of the requests that finished; 0 of the others, as vLLM has it."""
  known_ns = np.where(done, np.ma.filled(column_ns, 0), 0)
  return (known_ns / _NS).tolist()
