"""What a reader must know before trusting a run's numbers.

Short sentences in three ranks; none changes a number. *Doubts* question the
latencies themselves: plots mark such a run. *Caveats* say what the numbers do
not speak for. Both are flags and stand under the tables. *Notes* are calmer.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from pdjax import config
from pdjax.metrics.anchors import ANCHORS
from pdjax.metrics.requests import RequestTable

P99_REQUESTS = 300
"""Under this many requests a p99 is one of the three largest values."""

DRAIN_SHARE = 0.1
"""A run drains when its makespan exceeds the span of its arrivals by more."""

LATE_SHARE = 0.05
"""A generator is late when its p99 lag is above this share of median TTFT."""

GROWTH_SHARE = 0.1
"""A queue kept growing when, over the second half of the arrivals, more than
this share of them added to it (and more than chance would: a square root). In
the queue is who has arrived, not ended, and not begun to decode."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
  """What only the backend knows; None where it does not say."""

  padded_token_fraction: float | None = None
  pages_leaked: int | None = None
  compiles_in_window: int | None = None
  tokens_verified: int | None = None
  """Requests whose tokens were compared with a plain forward pass."""
  tokens_differing: int | None = None
  """Tokens of those requests that no tie explains."""
  prefix_reuse_share: float | None = None
  """Share of prompt tokens that a prefix cache without limits would hold."""

  def known(self) -> dict[str, Any]:
    """The facts that were said."""
    facts = dataclasses.asdict(self)
    return {name: fact for name, fact in facts.items() if fact is not None}


def doubts(
    table: RequestTable, summary: Mapping[str, Any], facts: Facts
) -> list[str]:
  """Why the latencies may be wrong or not last, most serious first."""
  return [
      *_from_facts(facts, summary["kind"] == "measured"),
      *_from_requests(table, summary),
  ]


def caveats(
    workload: config.Workload, summary: Mapping[str, Any], facts: Facts
) -> list[str]:
  """What right numbers do not speak for."""
  return [
      *_from_workload(workload, facts), *_drain(summary),
      *_anchor_flips(summary),
  ]


def notes(summary: Mapping[str, Any]) -> list[str]:
  """How fine the figures are."""
  completed = summary["completed"]
  few = completed < P99_REQUESTS
  return [f"p99 from {completed} requests"] if few else []


def is_sample(workload: config.Workload) -> bool:
  """Whether requests come from the sample in the package, not a trace."""
  return workload.kind != "synthetic" and workload.path is None


def _from_workload(workload: config.Workload, facts: Facts) -> list[str]:
  lines = []
  if is_sample(workload):
    lines.append(
        f"requests are the {workload.kind} SAMPLE made for pdjax, not the trace"
    )
  if (facts.prefix_reuse_share or 0) >= 0.005:
    lines.append(
        f"prefix reuse of {facts.prefix_reuse_share:.0%} ignored: prefix cache"
        " is off"
    )
  return lines


def _drain(summary: Mapping[str, Any]) -> list[str]:
  span_s = summary["arrival_span"]
  if not span_s or summary["duration"] <= (1 + DRAIN_SHARE) * span_s:
    return []
  return ["drain tail: throughput and goodput are below steady state"]


def _from_facts(facts: Facts, measured: bool) -> list[str]:
  lines = []
  if facts.tokens_differing:
    lines.append(f"{facts.tokens_differing} verified tokens differ")
  if facts.pages_leaked:
    lines.append(f"{facts.pages_leaked} pages leaked")
  if facts.compiles_in_window:
    lines.append(f"{facts.compiles_in_window} compiles in the window")
  if measured and not facts.tokens_verified:
    lines.append("tokens not verified")
  return lines


def _from_requests(
    table: RequestTable, summary: Mapping[str, Any]
) -> list[str]:
  lines = []
  missing = summary["sent"] - summary["completed"]
  if missing:
    lines.append(f"{missing} of {summary['sent']} requests did not finish")
  if _late(summary):
    lag_ms = summary["p99_generator_lag_ms"]
    lines.append(f"generator late: p99 lag {lag_ms:.3g} ms")
  if queue_grew(table):
    lines.append("queue kept growing while requests arrived")
  return lines


def _late(summary: Mapping[str, Any]) -> bool:
  lag_ms, ttft_ms = summary["p99_generator_lag_ms"], summary["median_ttft_ms"]
  if lag_ms is None or ttft_ms is None:
    return False
  return lag_ms > LATE_SHARE * ttft_ms


def queue_grew(table: RequestTable) -> bool:
  """Whether requests kept piling up in the second half of the arrivals."""
  arrival_ns = np.sort(table["arrival_ns"])
  half = len(arrival_ns) // 2
  if half < 1 or arrival_ns[half] == arrival_ns[-1]:
    return False
  never = np.iinfo(np.int64).max
  left_ns = np.minimum(
      np.ma.filled(table["first_decode_ns"], never),
      np.ma.filled(table["ended_ns"], never),
  )
  left_ns.sort()
  middle, last = (
      arrived - np.searchsorted(left_ns, at_ns, side="right")
      for arrived, at_ns in (
          (half + 1, arrival_ns[half]), (len(arrival_ns), arrival_ns[-1]),
      )
  )
  arrived = len(arrival_ns) - half - 1
  return last - middle > max(GROWTH_SHARE * arrived, arrived**0.5)


def _anchor_flips(summary: Mapping[str, Any]) -> list[str]:
  met = {anchor: summary[f"slo_met_{anchor}"] for anchor in ANCHORS}
  if len(set(met.values())) < 2:
    return []
  words = ", ".join(
      f"{'met' if holds else 'missed'} at {anchor}"
      for anchor, holds in met.items()
  )
  return [f"SLO depends on the first-token anchor: {words}"]
