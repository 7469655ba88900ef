"""Runs side by side as plain text, at most 96 columns wide.

Every block says first whether it was measured or simulated and under what
conditions. Only runs whose numbers may form a ratio share a block: of one kind
and one contract, or else under a line that says what differs.

Figures come from `pdjax.metrics.summary`, conditions from
`pdjax.metrics.conditions`; nothing is computed here.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from pdjax.digits import plain
from pdjax.metrics.breakdown import PARTS
from pdjax.metrics.percentiles import needed
from pdjax.metrics.trust import trust
from pdjax.report import labels
from pdjax.report.drawn import shown_runs, shown_words
from pdjax.report.draws import over_draws
from pdjax.report.folded import folded, told_apart
from pdjax.report.groups import ReportedRun, groups_of
from pdjax.report.heading import heading, wrapped
from pdjax.report.noise import noise
from pdjax.report.seeds import over_seeds


@dataclasses.dataclass(frozen=True, slots=True)
class _Column:
  group: str
  head: str
  key: str
  scale: float = 1
  width: int = 7
  significant: bool = False
  """Three digits however small; else two after the point."""


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
    _Column(
        "goodput", "/s/chip", "request_goodput_per_chip", width=9,
        significant=True,
    ),
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

_REUSE = (
    _Column("found,%", "on P", "prefix_hit_rate", 100, 8),
    _Column("found,%", "on D", "handoff_prefix_hit_rate", 100, 8),
    _Column("of it", "host,%", "host_hit_share", 100, 8),
    _Column("KV,GB", "moved", "transferred_bytes", 1e-9, 8, True),
    _Column("KV,GB", "spared", "spared_bytes", 1e-9, 8, True),
    _Column("prompt ktok", "asked", "total_input_tokens", 1e-3, 9, True),
    _Column("prompt ktok", "computed", "prefill_tokens", 1e-3, 9, True),
    _Column("prompt ktok", "repeated", "repeated_tokens", 1e-3, 9, True),
)


def comparison(runs: Sequence[ReportedRun]) -> str:
  """Blocks of latencies and time parts, measured runs first.

  Seeds of one design are a row of means. Of draws of the costs one is shown,
  and the verdict over all.
  """
  drawn, which = over_draws(runs), shown_words(runs)
  runs = shown_runs(runs)
  groups = groups_of(folded(runs))
  blocks = [_block(group) for group in groups]
  kinds = {group[0].summary["kind"] for group in groups}
  if len(groups) > len(kinds):
    fields = ", ".join(told_apart([group[0] for group in groups]))
    blocks.insert(0, "\n".join(wrapped(
        f"{len(groups)} blocks: contracts differ in {fields}; nothing is"
        " compared across blocks"
    )))
  if replicated := over_seeds(runs):
    replicated += "" if drawn else _trusted(runs)
    blocks.append("\n".join(
        line for text in replicated.splitlines() for line in wrapped(text)
    ))
  if which:
    blocks.insert(0, "\n".join(wrapped(which)))
  if drawn:
    blocks.append("\n".join(
        line for text in drawn.splitlines() for line in wrapped(text)
    ))
  return "\n\n".join(blocks)


def _trusted(runs: Sequence[ReportedRun]) -> str:
  """How far ratios of simulated runs can be trusted; a line, or nothing."""
  each = {
      trust(run.summary["kind"], run.conditions["contract"].get("cost_profile"))
      for run in runs
  }
  return "".join(f"\n{line}" for line in sorted(each - {""}))


def latency_table(runs: Sequence[ReportedRun]) -> str:
  """Latencies, throughput, SLO share and goodput; `on D` is the TTFT of the
  textbook, which waits for the first decode step after the transfer."""
  return _table(runs, _LATENCY)


def breakdown_table(runs: Sequence[ReportedRun]) -> str:
  """Mean milliseconds of each part of a request's life."""
  return _table(runs, _BREAKDOWN)


def reuse_table(runs: Sequence[ReportedRun]) -> str:
  """What prefix caches found, and what it saved; nothing where none was on and
  there was no conversation to remember. `on P` is where prompts are computed,
  on C too."""
  if not any(
      run.summary.get("reused_tokens") or run.summary.get("spared_tokens")
      or run.summary.get("conversations")
      for run in runs
  ):
    return ""
  return "Prefixes found again\n" + _table(runs, _REUSE)


def _block(given: Sequence[ReportedRun]) -> str:
  short, shared = labels.shortened([run.label for run in given])
  runs = [
      dataclasses.replace(run, label=label)
      for run, label in zip(given, short, strict=True)
  ]
  parts = [
      heading(runs[0].summary["kind"], runs, shared),
      latency_table(runs),
      "\n".join(line for part in noise(runs).splitlines()
                for line in wrapped(part)),
      "Where the time of a request went, mean ms\n" + breakdown_table(runs),
      reuse_table(runs),
      "\n".join([*_sentences(runs, "flags", "!"),
                 *_sentences(runs, "notes", "-")]),
  ]
  return "\n\n".join(filter(None, parts))


def _sentences(
    runs: Sequence[ReportedRun], field: str, mark: str
) -> list[str]:
  """What is to be said of runs; what holds of all is said once."""
  owners: dict[str, list[str]] = {}
  for run in runs:
    for sentence in run.summary[field]:
      owners.setdefault(sentence, []).append(run.label)
  return [
      line
      for sentence, names in owners.items()
      for line in wrapped(f"{mark} {_names(names, len(runs))}: {sentence}")
  ]


def _names(names: Sequence[str], total: int) -> str:
  return "all runs" if 1 < len(names) == total else ", ".join(names)


def _table(runs: Sequence[ReportedRun], columns: Sequence[_Column]) -> str:
  lines = [
      _groups(columns),
      " " * labels.WIDTH + "".join(f"{c.head:>{c.width}}" for c in columns),
  ]
  for run in runs:
    values = [
        f"{_cell(run.summary, c):>{c.width}}" for c in columns
    ]
    lines.append(labels.row(run.label, "".join(values)))
  return "\n".join(line.rstrip() for line in lines)


def _groups(columns: Sequence[_Column]) -> str:
  """The upper header line: each group's name over the end of its columns."""
  line, index = " " * labels.WIDTH, 0
  while index < len(columns):
    end = index + 1
    name = columns[index].group
    while name and end < len(columns) and columns[end].group == name:
      end += 1
    line += f"{name:>{sum(c.width for c in columns[index:end])}}"
    index = end
  return line


def _cell(summary: Mapping[str, Any], column: _Column) -> str:
  if column.key in summary.get("refused", ()):
    return f"n<{needed(float(column.head.removeprefix('p')))}"
  return _number(summary.get(column.key), column)


def _number(value: float | None, column: _Column) -> str:
  """Three digits or whole numbers; a dash where there is nothing."""
  if value is None:
    return "-"
  scaled = value * column.scale
  if column.significant and 1e-4 < scaled < 1:
    return plain(scaled)
  if scaled >= 1e6 or 0 < scaled < 0.005:
    return f"{scaled:.0e}"
  return f"{scaled:.{2 if scaled < 10 else 1 if scaled < 100 else 0}f}"
