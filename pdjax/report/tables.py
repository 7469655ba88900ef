"""Runs side by side as plain text, at most 96 columns wide.

Every block says first whether it was measured or simulated and under what
conditions. Measured and simulated runs never share a block, because their
numbers never form a ratio; runs whose contracts differ are marked.

Figures come from `pdjax.metrics.summary`, conditions from
`pdjax.metrics.conditions`; nothing is computed here.
"""

import dataclasses
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from pdjax.metrics.breakdown import PARTS
from pdjax.metrics.conditions import comparable

WIDTH = 96
_LABEL = 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReportedRun:
  """One run as reports show it."""

  label: str
  summary: Mapping[str, Any]
  conditions: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class _Column:
  group: str
  head: str
  key: str
  scale: float = 1
  width: int = 7


_LATENCY = (
    _Column("TTFT,ms", "p50", "p50_ttft_ms"),
    _Column("TTFT,ms", "p99", "p99_ttft_ms"),
    _Column("on D,ms", "p50", "p50_ttft_first_decode_ms", width=8),
    _Column("TTST,ms", "p50", "p50_ttst_ms", width=8),
    _Column("TPOT,ms", "p50", "p50_tpot_ms", width=6),
    _Column("TPOT,ms", "p99", "p99_tpot_ms", width=6),
    _Column("ITL,ms", "p50", "p50_itl_ms", width=6),
    _Column("ITL,ms", "p99", "p99_itl_ms", width=6),
    _Column("output", "tok/s", "output_throughput"),
    _Column("SLO", "%", "slo_attainment", 100, 6),
    _Column("goodput", "/s/chip", "request_goodput_per_chip", width=8),
)

_BREAKDOWN = (
    *(
        _Column(*name, f"mean_{part}_ms", width=max(9, len(name[1]) + 1))
        for part, name in zip(
            PARTS,
            (
                ("queue for", "prefill"), ("", "prefill"),
                ("wait for", "transfer"), ("", "transfer"),
                ("queue for", "decode"), ("", "decode"), ("", "preempted"),
            ),
            strict=True,
        )
    ),
    _Column("end to", "end", "mean_e2el_ms", width=9),
)


def comparison(runs: Sequence[ReportedRun]) -> str:
  """Blocks of latencies and time parts, measured runs first."""
  blocks = []
  for kind in ("measured", "simulated"):
    alike = [run for run in runs if run.summary["kind"] == kind]
    if alike:
      blocks.append(_block(kind, alike))
  return "\n\n".join(blocks)


def latency_table(runs: Sequence[ReportedRun]) -> str:
  """Latencies, throughput, SLO share and goodput; `on D` is the TTFT of the
  textbook, which waits for the first decode step after the transfer."""
  return _table(runs, _LATENCY)


def breakdown_table(runs: Sequence[ReportedRun]) -> str:
  """Mean milliseconds of each part of a request's life."""
  return _table(runs, _BREAKDOWN)


def heading(kind: str, runs: Sequence[ReportedRun]) -> str:
  """What the runs have in common, wrapped to the table's width."""
  contract = runs[0].conditions["contract"]
  parts = [
      f"{contract['model']} {contract['dtype']}",
      f"{contract['chips']} x {contract['chip'] or 'device'}",
      _workload(runs[0]),
      _slo(contract["slo"]),
      _anchors(runs),
      *dict.fromkeys(note for r in runs for note in r.conditions["notes"]),
  ]
  lines = _wrapped(f"{kind.upper()}  {'; '.join(filter(None, parts))}")
  unequal = sorted({
      field
      for run in runs[1:]
      for field in comparable(runs[0].conditions, run.conditions)
  })
  if unequal:
    lines += _wrapped(
        f"NOT COMPARABLE  runs differ in {', '.join(unequal)}"
    )
  return "\n".join(lines)


def _block(kind: str, runs: Sequence[ReportedRun]) -> str:
  parts = [
      heading(kind, runs),
      latency_table(runs),
      "Where the time of a request went, mean ms\n" + breakdown_table(runs),
  ]
  flagged = [
      line
      for run in runs
      for flag in run.summary["flags"]
      for line in _wrapped(f"! {run.label}: {flag}")
  ]
  if flagged:
    parts.append("\n".join(flagged))
  return "\n\n".join(parts)


def _workload(run: ReportedRun) -> str:
  contract, workload = run.conditions["contract"], run.conditions["workload"]
  arrival, rate = contract.get("arrival"), contract.get("rate_per_s")
  timing = f"{arrival} {rate:g}/s" if rate else arrival
  requests = f"{run.summary['sent']} requests"
  return " ".join(filter(None, (requests, workload.get("kind"), timing)))


def _anchors(runs: Sequence[ReportedRun]) -> str:
  """Where the first token is released, if it matters to any run."""
  anchors = (
      run.conditions["contract"]["first_token_anchor"] for run in runs
  )
  names = " and ".join(dict.fromkeys(filter(None, anchors)))
  return f"first token at {names}" if names else ""


def _slo(slo: Mapping[str, Any]) -> str:
  if not slo["terms"]:
    return "no SLO"
  terms = " and ".join(
      f"{metric} <= {limit_s:g} s"
      if scope == "request" else f"{statistic} {metric} <= {limit_s:g} s"
      for metric, statistic, scope, limit_s in slo["terms"]
  )
  return f"SLO {terms} for {slo['attainment']:.0%}"


def _table(runs: Sequence[ReportedRun], columns: Sequence[_Column]) -> str:
  lines = [
      _groups(columns),
      " " * _LABEL + "".join(f"{c.head:>{c.width}}" for c in columns),
  ]
  for run in runs:
    values = [
        f"{_number(run.summary.get(c.key), c.scale):>{c.width}}"
        for c in columns
    ]
    lines.append(_cut(run.label, _LABEL).ljust(_LABEL) + "".join(values))
  return "\n".join(line.rstrip() for line in lines)


def _groups(columns: Sequence[_Column]) -> str:
  """The upper header line: each group's name over the end of its columns."""
  line, index = " " * _LABEL, 0
  while index < len(columns):
    end = index + 1
    name = columns[index].group
    while name and end < len(columns) and columns[end].group == name:
      end += 1
    line += f"{name:>{sum(c.width for c in columns[index:end])}}"
    index = end
  return line


def _number(value: float | None, scale: float) -> str:
  """Three digits or whole numbers; a dash where there is nothing."""
  if value is None:
    return "-"
  scaled = value * scale
  if scaled >= 1e6 or 0 < scaled < 0.005:
    return f"{scaled:.0e}"
  return f"{scaled:.{2 if scaled < 10 else 1 if scaled < 100 else 0}f}"


def _cut(text: str, width: int) -> str:
  return text if len(text) < width else text[: width - 2] + "~"


def _wrapped(text: str) -> list[str]:
  return textwrap.wrap(
      text, WIDTH, subsequent_indent="  ", break_long_words=False
  )
