"""Reads what `vllm bench serve` wrote; names in `pdjax.foreign.vllm`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pdjax.foreign import vllm
from pdjax.foreign.observed import MOST, Observed, Requests, number


def is_vllm(value: Any) -> bool:
  """Whether a JSON value looks like a result of vLLM's benchmark."""
  return isinstance(value, dict) and any(
      vllm.statistic(name, metric) in value
      for metric in vllm.METRICS for name in ("mean", "median", "p99")
  )


def read(value: Mapping[str, Any], source: str) -> Observed:
  """What the benchmark saw.

  Raises:
    ValueError: lists of requests that do not fit together.
  """
  figures = {}
  for metric in vllm.METRICS:
    for theirs, ours in (
        ("mean", "mean"), ("median", "p50"), ("p90", "p90"), ("p99", "p99"),
    ):
      found = number(value.get(vllm.statistic(theirs, metric)))
      if found is not None:
        figures[f"{ours}_{metric}_ms"] = found
  completed = number(value.get("completed"))
  failed = number(value.get("failed"))
  requests = _requests(value)
  return Observed(
      source=f"{source}: vLLM's benchmark"
      + (", with details" if requests else ""),
      completed=None if completed is None else int(completed),
      failed=int(failed or 0),
      figures=figures,
      requests=requests,
  )


def _requests(value: Mapping[str, Any]) -> Requests | None:
  """Of the lists, those that got an answer; None without lists."""
  if not isinstance(value.get("ttfts"), list) or not value["ttfts"]:
    return None
  size = len(value["ttfts"])
  outputs = _list(value, "output_lens", size)
  done = np.ones(size, bool) if outputs is None else outputs > 0

  def kept(name: str, scale: float = 1.0) -> np.ndarray | None:
    column = _list(value, name, size)
    return None if column is None else column[done] * scale

  ttft_ms = kept("ttfts", 1000.0)
  assert ttft_ms is not None
  return Requests(
      ttft_ms=ttft_ms,
      start_s=kept("start_times"),
      e2el_ms=kept("latencies", 1000.0),
      prompt_tokens=kept("input_lens"),
      gaps_ms=_gaps(value.get("itls"), done),
  )


def _list(value: Mapping[str, Any], name: str, size: int) -> np.ndarray | None:
  if name not in value:
    return None
  try:
    column = np.array(value[name], float)
  except (TypeError, ValueError, OverflowError):
    column = np.empty(0)
  if column.shape != (size,) or not _usable(column):
    raise ValueError(f"{name}: expected {size} numbers, one a request")
  return column


def _usable(column: np.ndarray) -> bool:
  return bool((np.abs(column) <= MOST).all())  # nan is not


def _gaps(lists: Any, done: np.ndarray) -> tuple[np.ndarray, ...] | None:
  if not isinstance(lists, list) or not lists:
    return None
  try:
    gaps = [np.array(each, float) for each in lists]
  except (TypeError, ValueError, OverflowError):
    gaps = []
  if len(gaps) != len(done) or not all(
      each.ndim == 1 and _usable(each) for each in gaps
  ):
    raise ValueError(f"itls: expected {len(done)} lists of numbers")
  return tuple(
      1000.0 * each for each, kept in zip(gaps, done, strict=True) if kept
  )
