"""Each millisecond of the mean finished request, in one cause."""

import dataclasses
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Shares:
  """Milliseconds of the mean finished request by cause, on two sides."""

  first: dict[str, float]
  """Until its first token."""
  later: dict[str, float]
  """After it."""

  def of(self, cause: str) -> float:
    return self.first.get(cause, 0.0) + self.later.get(cause, 0.0)

  @property
  def total(self) -> float:
    return sum(self.first.values()) + sum(self.later.values())


def shares_of(summary: Mapping[str, Any], mean_lag_ms: float) -> Shares:
  """Of a summary's means, each millisecond in one cause."""

  def mean(part: str) -> float:
    return summary[f"mean_{part}_ms"] or 0.0

  lag = min(mean_lag_ms, mean("p_queue"))
  disturbed = min(mean("interference"), mean("decode"))
  first = {
      "generator": lag,
      "prefill_queue": mean("p_queue") - lag,
      "prefill": mean("prefill"),
  }
  first["decode_memory"] = mean("p_place")
  held = _holds_prefill_workers(summary)
  for wait, else_by in (
      ("p_memory", "decode_memory"), ("p_slots", "batch_limit"),
  ):
    cause = held or else_by
    first[cause] = first.get(cause, 0.0) + mean(wait)
  later = {
      "transfer": mean("transfer"),
      "decode_memory": mean("d_memory") + mean("preempted"),
      "batch_limit": mean("d_slots"),
      "handover": mean("d_queue"),
      "interference": disturbed,
      "decode": mean("decode") - disturbed,
  }
  return Shares(first=first, later=later)


def _holds_prefill_workers(summary: Mapping[str, Any]) -> str:
  """What holds the pages and places on prefill workers that prompts wait for.

  They are kept until the hand-off is over: so what delays that most, or else
  the prompts computed there. Empty where no worker only prefills: then answers
  hold them.
  """
  if "compute_share[P]" not in summary:
    return ""
  delays = {
      "decode_memory": summary["mean_d_memory_ms"] or 0.0,
      "batch_limit": summary["mean_d_slots_ms"] or 0.0,
      "transfer": summary["mean_transfer_ms"] or 0.0,
      "prefill_queue": summary["mean_prefill_ms"] or 0.0,
  }
  return max(delays, key=lambda cause: delays[cause])
