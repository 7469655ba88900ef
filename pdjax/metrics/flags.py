"""What a reader must know before trusting a run's numbers.

Short sentences in two ranks; none changes a number. *Doubts* question the
latencies themselves: plots mark such a run. *Caveats* say what the numbers do
not speak for. Both are flags and stand under the tables; calmer sentences are
`pdjax.metrics.notes`.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from pdjax import config
from pdjax.digits import plain
from pdjax.metrics.anchors import ANCHORS
from pdjax.metrics.growth import grew
from pdjax.metrics.requests import RequestTable
from pdjax.window import window_of

DRAIN_SHARE = 0.1
"""A run drains when its makespan exceeds the span of its arrivals by more."""

EXTRAPOLATED_SHARE = 0.01
"""Prices are said to be extrapolated when more of the steps are."""

OTHERS_SHARE = 0.1
"""A measured run was not alone when others took more of its cores' time."""

RATE_SHARE = 0.1
"""A window's offered rate may differ from the configured one by this share."""

LOOPS = ("closed", "semi_open")
"""Arrivals whose times follow from the system too."""

QUEUE_GREW = "queue kept growing while requests arrived"

LATE_SHARE = 0.05
"""A generator is late when its lag (p99, of few requests the largest) is above
this share of the median TTFT."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
  """What no log knows; None where it does not apply."""

  padded_token_fraction: float | None = None
  pages_leaked: int | None = None
  compiles_in_window: int | None = None
  tokens_verified: int | None = None
  """Requests whose tokens were compared with a plain forward pass."""
  tokens_unscored: int | None = None
  """Tokens of the run whose logits were not all finite."""
  tokens_differing: int | None = None
  """Tokens of those requests that no tie explains."""
  token_agreement: float | None = None
  """Where KV is rounded on its way: share of the verified tokens that are equal
  all the same, or tied."""
  load_ended: bool | None = None
  """Whether the last prepared request arrived before a steady run was over."""
  extrapolated_step_share: float | None = None
  """Share of simulated steps that a profile was asked for beyond its range."""
  tdp_w: float | None = None
  """Of all chips together, where the chips' table has it."""
  usd_per_hour: float | None = None
  """Of all chips together, likewise."""
  answers_cut: int | None = None
  """Measured answers that ended at `max_tokens`, before their true length."""
  others_core_share: float | None = None
  """Of the time of the cores that a measured run may use, what other programs
  took while it served."""
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
    run: config.Run, summary: Mapping[str, Any], facts: Facts
) -> list[str]:
  """What right numbers do not speak for."""
  return [
      *_from_workload(run, facts), *_off_rate(run.workload, summary),
      *_drain(summary),
      *_anchor_flips(summary), *_not_judged(summary),
  ]


def is_sample(workload: config.Workload) -> bool:
  """Whether requests come from the sample in the package, not a trace."""
  return workload.kind != "synthetic" and workload.path is None


def _from_workload(run: config.Run, facts: Facts) -> list[str]:
  lines = []
  if is_sample(run.workload):
    lines.append(
        f"requests are the {run.workload.kind} SAMPLE made for pdjax, not the"
        " trace"
    )
  if not run.strategy.prefix_cache and (facts.prefix_reuse_share or 0) >= 0.005:
    lines.append(
        f"prefix reuse of {facts.prefix_reuse_share:.0%} ignored: prefix cache"
        " is off"
    )
  if facts.token_agreement is not None:
    lines.append(
        "not exact: KV rounded to int8 on its way;"
        f" {facts.token_agreement:.2%} of the verified tokens agree"
    )
  if (facts.extrapolated_step_share or 0) >= EXTRAPOLATED_SHARE:
    lines.append(
        f"{facts.extrapolated_step_share:.0%} of the steps priced beyond the"
        " profile's range"
    )
  return lines


def _off_rate(
    workload: config.Workload, summary: Mapping[str, Any]
) -> list[str]:
  """A window that got another rate than asked for, by more than chance."""
  window, arrival = window_of(workload), workload.arrival
  asked, came = workload.rate, summary["offered_rate"]
  if not window or not asked or not came or arrival in LOOPS:
    return []
  expected = asked * window.duration_ns / 1e9
  cv = workload.arrival_cv if arrival == "gamma" else 1.0
  if abs(came / asked - 1) <= max(RATE_SHARE, 3 * cv / expected**0.5):
    return []
  traced = arrival == "trace"
  why = "a trace's pace varies" if traced else "more than chance explains"
  return [
      f"offered {plain(came)} requests/s in the window, {plain(asked)}"
      f" configured: {why}"
  ]


def _drain(summary: Mapping[str, Any]) -> list[str]:
  # Where all arrive at one time the span is 0 and the whole run is the tail.
  if summary["duration"] <= (1 + DRAIN_SHARE) * summary["arrival_span"]:
    return []
  return ["drain tail: throughput and goodput are below steady state"]


def _from_facts(facts: Facts, measured: bool) -> list[str]:
  lines = []
  if facts.tokens_unscored:
    lines.append(
        f"not a number in the logits of {facts.tokens_unscored} tokens"
    )
  if facts.tokens_differing:
    lines.append(f"{facts.tokens_differing} verified tokens differ")
  if facts.pages_leaked:
    lines.append(f"{facts.pages_leaked} pages leaked")
  if facts.compiles_in_window:
    lines.append(f"{facts.compiles_in_window} compiles in the window")
  if facts.load_ended:
    lines.append("arrivals ended before the measured requests did")
  lines += not_alone(facts.others_core_share)
  if measured and not facts.tokens_verified:
    lines.append("tokens not verified")
  return lines


def _from_requests(
    table: RequestTable, summary: Mapping[str, Any]
) -> list[str]:
  lines = []
  if table.window and not summary["sent"]:
    lines.append("no request in the window")
  missing = summary["sent"] - summary["completed"] - summary["aborted"]
  if missing:
    lines.append(f"{missing} of {summary['sent']} requests did not finish")
  lines += _damaged(summary) + _late(summary)
  if queue_grew(table):
    lines.append(QUEUE_GREW)
  return lines


def _damaged(summary: Mapping[str, Any]) -> list[str]:
  """Pages that were damaged on the way, and nothing looked."""
  damaged = summary["undetected_corruptions"]
  if not damaged:
    return []
  return [
      f"{damaged} requests went on with damaged pages: strategy.transfer.verify"
      " was off"
  ]


def _late(summary: Mapping[str, Any]) -> list[str]:
  name = "max" if summary["p99_generator_lag_ms"] is None else "p99"
  lag_ms = summary[f"{name}_generator_lag_ms"]
  ttft_ms = summary["median_ttft_ms"]
  if None in (lag_ms, ttft_ms) or lag_ms <= LATE_SHARE * ttft_ms:
    return []
  return [f"generator late: {name} lag {plain(lag_ms)} ms"]


def queue_grew(table: RequestTable) -> bool:
  """Whether requests kept piling up in the window, or while the second half
  arrived.

  In the queue is who has arrived, not ended, and not begun to decode.
  """
  arrival_ns = np.sort(table["arrival_ns"])
  half = len(arrival_ns) // 2
  if half < 1 or arrival_ns[half] == arrival_ns[-1]:
    return False
  begin_ns, end_ns = arrival_ns[half], arrival_ns[-1]
  if table.window:
    begin_ns, end_ns = table.window.begin_ns, table.window.end_ns
  never = np.iinfo(np.int64).max
  left_ns = np.minimum(
      np.ma.filled(table["first_decode_ns"], never),
      np.ma.filled(table["ended_ns"], never),
  )
  return grew(arrival_ns, left_ns, begin_ns, end_ns)


_MET = {True: "met", False: "missed", None: "not judged"}


def _anchor_flips(summary: Mapping[str, Any]) -> list[str]:
  met = {anchor: summary[f"slo_met_{anchor}"] for anchor in ANCHORS}
  if len(set(met.values())) < 2:
    return []
  words = ", ".join(
      f"{_MET[holds]} at {anchor}"
      for anchor, holds in met.items()
  )
  return [f"SLO depends on the first-token anchor: {words}"]


def _not_judged(summary: Mapping[str, Any]) -> list[str]:
  """Terms of the SLO on statistics that have too few values."""
  return [
      f"SLO not judged: too few values for {name[len('slo_holds['):-1]}"
      for name, holds in summary.items()
      if summary["sent"] and name.startswith("slo_holds[") and holds is None
  ]


def not_alone(others_share: float | None) -> list[str]:
  """A line if other programs used much of the cores' time."""
  if (others_share or 0) <= OTHERS_SHARE:
    return []
  return [
      f"not alone: other programs took {others_share:.0%} of the time of its"
      " cores"
  ]
