"""What the runs of a block have in common, in words."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from pdjax.digits import plain
from pdjax.report.groups import ReportedRun, unequal

WIDTH = 96
"""Columns that reports keep to."""


def heading(
    kind: str, runs: Sequence[ReportedRun], shared: str = ""
) -> str:
  """Kind and conditions, wrapped; `shared` are words left out of labels."""
  contract = runs[0].conditions["contract"]
  parts = [
      f"all runs {shared}" if shared else "",
      model_words(contract),
      _weights(runs[0]),
      f"{contract['chips']} x {contract['chip'] or 'device'}",
      _workload(runs[0]),
      _offered(runs),
      slo_words(contract["slo"]),
      _anchors(runs),
      _links(runs) if kind == "simulated" else "",
      prices_words(contract),
      *dict.fromkeys(note for r in runs for note in r.conditions["notes"]),
  ]
  lines = wrapped(f"{kind.upper()}  {'; '.join(filter(None, parts))}")
  if fields := unequal(runs):
    lines += wrapped(f"NOT COMPARABLE  runs differ in {', '.join(fields)}")
  return "\n".join(lines)


def model_words(contract: Mapping[str, Any]) -> str:
  """The model and its formats, those said beside `model.dtype` too."""
  formats = [
      f"{what} {kept}"
      for field, what in _FORMATS.items()
      if (kept := contract.get(field)) and kept != contract["dtype"]
  ]
  others = f" ({', '.join(formats)})" if formats else ""
  return f"{contract['model']} {contract['dtype']}{others}"


_FORMATS = {
    "weight_dtype": "weights", "product_dtype": "products", "kv_dtype": "KV",
}


def prices_words(contract: Mapping[str, Any]) -> str:
  """What simulated prices rest on; nothing of a measured run.

  A file's hash is in the conditions.
  """
  profile = contract.get("cost_profile")
  return f"prices {re.sub(_HASH, '', profile)}" if profile else ""


_HASH = r" sha256 [0-9a-f]{64}"


def workload_words(conditions: Mapping[str, Any]) -> str:
  """The requests in a few words, such as `azure trace` or `poisson 4/s`."""
  contract, workload = conditions["contract"], conditions["workload"]
  arrival, rate = contract.get("arrival"), contract.get("rate_per_s")
  kind = workload.get("kind")
  if workload.get("sample"):
    # Even with the file's own arrival times, none of it is the trace.
    kind = f"{kind} SAMPLE made for pdjax, not the trace"
    arrival = f"{arrival} arrivals" if rate else None
  timing = f"{arrival} {rate:g}/s" if rate else arrival
  return " ".join(filter(None, (kind, timing, _users(workload.get("users")))))


def _users(users: Mapping[str, Any] | None) -> str:
  """Who waits for answers, such as `16 users thinking 2 s`."""
  if not users:
    return ""
  stay = users.get("stay_probability")
  who = f"{users['concurrency']} users" if stay is None else (
      f"users, {stay:.0%} stay"
  )
  pause_s = users["think_time_s"]
  return f"{who} thinking {pause_s:g} s" if pause_s else who


def wrapped(text: str) -> list[str]:
  return textwrap.wrap(
      text, WIDTH, subsequent_indent="  ", break_long_words=False
  )


def _weights(run: ReportedRun) -> str:
  file = run.conditions["design"].get("weights", {}).get("file")
  return f"weights {file}" if file else ""


def _workload(run: ReportedRun) -> str:
  words = workload_words(run.conditions)
  window = run.conditions["contract"].get("window")
  when = ""
  if window:
    when = f" in {window['duration_s']:g} s after {window['warmup_s']:g} s"
  return f"{run.summary['sent']} requests {words}".rstrip() + when


def _offered(runs: Sequence[ReportedRun]) -> str:
  """Requests over the span of their arrivals; per chip where one holds."""
  rate = runs[0].summary.get("offered_rate")
  if rate is None:
    return ""
  each = {run.summary["offered_rate_per_chip"] for run in runs}
  per_chip = f" ({plain(each.pop())}/s/chip)" if len(each) == 1 else ""
  return f"offered {plain(rate)}/s{per_chip}"


def _anchors(runs: Sequence[ReportedRun]) -> str:
  """Where the first token is released, if it matters to any run."""
  anchors = (
      run.conditions["contract"]["first_token_anchor"] for run in runs
  )
  names = " and ".join(dict.fromkeys(filter(None, anchors)))
  return f"first token at {names}" if names else ""


def _links(runs: Sequence[ReportedRun]) -> str:
  """Bandwidths of the links that pages move over."""
  found = {
      pool.get("link_bytes_per_s")
      for run in runs
      for pool in run.conditions["design"]["pools"]
      if run.conditions["contract"]["first_token_anchor"]
  }
  each = [f"{plain(speed / 1e9, 5)}" for speed in sorted(filter(None, found))]
  return f"link {' and '.join(each)} GB/s" if each else ""


def slo_words(slo: Mapping[str, Any]) -> str:
  """An SLO, as the contract has it, in a few words."""
  if not slo["terms"]:
    return "no SLO"
  terms = " and ".join(
      f"{metric} <= {limit_s:g} s"
      if scope == "request" else f"{statistic} {metric} <= {limit_s:g} s"
      for metric, statistic, scope, limit_s in slo["terms"]
  )
  return f"SLO {terms} for {slo['attainment']:.0%}"
