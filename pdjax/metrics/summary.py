"""One flat row a run, in the names of vLLM's serving benchmark plus ours.

Values are numbers, words, null or lists of words, fit for JSON: what has no
sample is null, never NaN. Latencies are of finished requests; those that did
not finish are counted beside them and stay in every SLO's denominator, but for
those that their clients gave up.

Units: `_ms` milliseconds, `duration` and `arrival_span` seconds, rates and
throughputs per second.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pdjax import config
from pdjax.metrics import attribution, found, mishaps
from pdjax.metrics.anchors import ANCHORS
from pdjax.metrics.breakdown import PARTS
from pdjax.metrics.certainty import bounds
from pdjax.metrics.flags import Facts, caveats, doubts
from pdjax.metrics.goodput import goodput
from pdjax.metrics.notes import notes
from pdjax.metrics.percentiles import needed, percentile
from pdjax.metrics.requests import STATES, RequestTable
from pdjax.metrics.slo import judge
from pdjax.metrics.throughput import duration_of, throughputs
from pdjax.metrics.waits import WAITS
from pdjax.metrics.weighted import Weighted

LATENCIES = ("ttft", "ttst", "tpot", "itl", "itl_first", "e2el")
PERCENTILES = (50, 90, 99)


def summarize(
    table: RequestTable,
    run: config.Run,
    *,
    chips: int | None = None,
    facts: Facts | None = None,
) -> dict[str, Any]:
  """The summary of one run.

  Args:
    table: every request, under the anchor that the run released at; the
      summary is of the measured ones.
    run: its config: backend, SLO, pools.
    chips: all chips it used; None counts those of its pools.
    facts: what the log does not know: padding, leaks, compiles, checks.
  """
  facts = facts or Facts()
  chips = chips or chips_of(run)
  everyone, table = table, table.measured()
  measured = run.backend.kind == "jax"
  summary = {
      "kind": "measured" if measured else "simulated",
      "first_token_anchor": table.anchor,
      "chips": chips,
      **_counts(table),
      "duration": duration_of(table) / 1e9,
      **_offered(table, chips),
      **throughputs(everyone),
  }
  samples = {metric: table.sample(metric) for metric in LATENCIES}
  for metric, sample in samples.items():
    summary |= _latency(metric, sample)
  summary |= _under_anchors(table, run.slo)
  summary |= _slo(everyone, table, run.slo, chips)
  summary |= bounds(table, run.slo)
  summary["refused"] = _refused(samples)
  summary |= _generator(table)
  summary |= _mean_parts(table)
  summary |= _steps(table)
  summary |= _lost_prefill(table)
  summary |= found.figures(table, run.cluster.page_tokens)
  summary |= attribution.figures(table.attribution)
  summary["layered_transfers"] = _layered(run, summary["transfers"])
  summary |= mishaps.figures(table.journal.mishaps)
  summary |= facts.known() | _cost_of_tokens(summary, facts)
  doubtful = doubts(everyone, summary, facts)
  summary["doubtful"] = bool(doubtful)
  summary["flags"] = doubtful + caveats(run, summary, facts)
  summary["notes"] = notes(table, summary, run.slo)
  return summary


def _layered(run: config.Run, transfers: int) -> bool:
  """Whether what is hidden of transfers, and busy links, are bounds."""
  plan = run.strategy.transfer
  return bool(plan and plan.group_layers and transfers)


def chips_of(run: config.Run) -> int:
  """Chips of all pools together."""
  return sum(p.count * p.layout.chips for p in config.pools_of(run))


def _counts(table: RequestTable) -> dict[str, int | float | None]:
  states = {s: int((table["state"] == s).sum()) for s in STATES}
  done = table.finished
  return {
      "sent": len(table),
      "completed": states.pop("finished"),
      **states,
      "total_input_tokens": int(table["prompt_tokens"][done].sum()),
      "total_output_tokens": int(table["output_tokens"][done].sum()),
      "preemptions": int(table["preemptions"].sum()),
      "restarts": int(table["restarts"].sum()),
      "recomputed_tokens": int(table["recomputed_tokens"].sum()),
  }


def _offered(table: RequestTable, chips: int) -> dict[str, float | None]:
  """What was asked for: requests over the window or the span of arrivals."""
  arrival_ns = table["arrival_ns"]
  span_s = float(np.ptp(arrival_ns)) / 1e9 if len(table) else 0.0
  if table.window:
    span_s = table.window.duration_ns / 1e9
  rate = _ratio(len(table), span_s)
  return {
      "arrival_span": span_s,
      "offered_rate": rate,
      "offered_rate_per_chip": None if rate is None else rate / chips,
  }


def _latency(metric: str, sample: Weighted) -> dict[str, float | None]:
  statistics = {
      "mean": sample.mean(),
      "median": percentile(sample, 50),
      **{f"p{at}": percentile(sample, at) for at in PERCENTILES},
  }
  return {
      f"{name}_{metric}_ms": _ms(value) for name, value in statistics.items()
  }


def _refused(samples: Mapping[str, Weighted]) -> list[str]:
  """Percentiles that there are too few values for."""
  return [
      f"p{at}_{metric}_ms"
      for metric, sample in samples.items()
      for at in PERCENTILES
      if 0 < len(sample.values) < needed(at)
  ]


def _under_anchors(table: RequestTable, slo: config.SLO) -> dict[str, Any]:
  """TTFT, TPOT and the SLO as they would be at each anchor."""
  row: dict[str, Any] = {}
  for anchor in ANCHORS:
    other = table.under(anchor)
    verdict = judge(other, slo)
    for metric in ("ttft", "tpot"):
      sample = other.sample(metric)
      row[f"mean_{metric}_{anchor}_ms"] = _ms(sample.mean())
      for at in (50, 99):
        row[f"p{at}_{metric}_{anchor}_ms"] = _ms(percentile(sample, at))
    row[f"slo_attainment_{anchor}"] = verdict.attainment
    row[f"slo_met_{anchor}"] = verdict.met
  return row


def _slo(
    everyone: RequestTable, table: RequestTable, slo: config.SLO, chips: int
) -> dict[str, Any]:
  verdict = judge(table, slo)
  served = goodput(everyone, slo, chips)
  row: dict[str, Any] = {
      "slo_attainment": verdict.attainment,
      "slo_met": verdict.met,
      "slo_vacuous": verdict.vacuous,
      "request_goodput": served.requests_per_s,
      "request_goodput_per_chip": served.requests_per_s_per_chip,
      "deadline_token_goodput": served.deadline_tokens_per_s,
      "deadline_token_share": served.deadline_token_share,
  }
  for outcome in verdict.outcomes:
    if outcome.term.scope == "request":
      row[f"slo_share[{outcome.term}]"] = outcome.share
      row[f"slo_vacuous[{outcome.term}]"] = outcome.vacuous
    else:
      row[f"slo_holds[{outcome.term}]"] = outcome.holds
      row[f"slo_value_s[{outcome.term}]"] = outcome.value_s
  return row


def _generator(table: RequestTable) -> dict[str, float | None]:
  lag = Weighted.of(table["lag_ns"])
  return {
      "p99_generator_lag_ms": _ms(percentile(lag, 99)),
      "max_generator_lag_ms": _ms(lag.max()),
  }


def _mean_parts(table: RequestTable) -> dict[str, float | None]:
  """Means over the same requests, so they sum to `mean_e2el_ms`."""
  means = {
      f"mean_{part}_ms": _ms(table.sample(part).mean())
      for part in (*PARTS, "hidden_transfer", *WAITS, "interference")
  }
  exposed = table.sample("transfer").mean() or 0.0
  hidden = table.sample("hidden_transfer").mean() or 0.0
  return means | {
      "exposed_transfer_share": _ratio(exposed, exposed + hidden),
      **{
          f"{name}_requests": int((table[f"{name}_ns"] > 0).sum() or 0)
          for name in WAITS
      },
  }


def _steps(table: RequestTable) -> dict[str, float | None]:
  steps = table.steps
  return {
      "steps": steps.steps,
      "mean_decode_batch": _ratio(steps.decode_tokens, steps.decode_steps),
      "prefill_tokens": steps.prefill_tokens,
      "mean_prefill_tokens_per_step": _ratio(
          steps.prefill_tokens, steps.prefill_steps
      ),
  }


def _lost_prefill(table: RequestTable) -> dict[str, int]:
  """Prompt tokens computed again, and computed for nothing."""
  done, computed = table.finished, table["prefilled_tokens"]
  needed = table["prompt_tokens"] - table["reused_tokens"]
  again = computed[done].sum() - needed[done].sum()
  return {
      "recomputed_prefill_tokens": int(again),
      "wasted_prefill_tokens": int(computed[~done].sum()),
  }


def _cost_of_tokens(
    summary: Mapping[str, Any], facts: Facts
) -> dict[str, float | None]:
  """Of output tokens, all chips running at their rated power all the time."""
  per_s = summary["output_throughput"]
  if not per_s:
    return {}
  costs = {}
  if facts.tdp_w:
    costs["output_tokens_per_joule"] = per_s / facts.tdp_w
  if facts.usd_per_hour:
    dollars = facts.usd_per_hour / 3600 / per_s
    costs["usd_per_million_output_tokens"] = 1e6 * dollars
  return costs


def _ratio(part: float, whole: float) -> float | None:
  return part / whole if whole else None


def _ms(value_ns: float | None) -> float | None:
  return None if value_ns is None else value_ns / 1e6
