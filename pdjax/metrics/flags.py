"""What a reader must know before trusting a run's numbers.

A flag is a short sentence. It never changes a number; plots draw a flagged run
hollow and tables put the sentence under the numbers.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from pdjax.metrics.anchors import ANCHORS
from pdjax.metrics.requests import RequestTable

P99_REQUESTS = 300
"""Under this many requests a p99 is one of the three largest values."""

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

  def known(self) -> dict[str, Any]:
    """The facts that were said."""
    facts = dataclasses.asdict(self)
    return {name: fact for name, fact in facts.items() if fact is not None}


def flags(
    table: RequestTable, summary: Mapping[str, Any], facts: Facts
) -> list[str]:
  """All that holds of a run, most serious first."""
  return [
      *_from_facts(facts, summary["kind"] == "measured"),
      *_from_requests(table, summary),
      *_anchor_flips(summary),
  ]


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
  lines, completed = [], summary["completed"]
  missing = summary["sent"] - completed
  if missing:
    lines.append(f"{missing} of {summary['sent']} requests did not finish")
  if _late(summary):
    lag_ms = summary["p99_generator_lag_ms"]
    lines.append(f"generator late: p99 lag {lag_ms:.3g} ms")
  if queue_grew(table):
    lines.append("queue kept growing while requests arrived")
  if completed < P99_REQUESTS:
    lines.append(f"p99 from {completed} requests")
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
