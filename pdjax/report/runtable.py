"""All runs in one table that sorts, and what their configs differ in."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pdjax.metrics.percentiles import needed
from pdjax.report.record import Record


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
  """A column, with what it is called and where it comes from."""

  head: str
  key: str
  scale: float = 1
  digits: int = 3
  means: str = ""


COLUMNS = (
    Column("req/s/chip", "offered_rate_per_chip", means="offered rate"),
    Column("goodput /s/chip", "request_goodput_per_chip",
           means="requests that kept the SLO, per second of the whole run and"
           " chip"),
    Column("SLO %", "slo_attainment", 100,
           means="share of all requests sent that kept every limit"),
    *(
        Column(f"{name} p{at}", f"p{at}_{metric}_ms", means=f"ms: {means}")
        for metric, name, means in (
            ("ttft", "TTFT", "time to first token, from intended arrival"),
            ("ttst", "TTST", "time to second token"),
            ("tpot", "TPOT", "time per output token after the first"),
            ("itl", "ITL", "gap between tokens, pooled"),
        )
        for at in (50, 99)
    ),
    Column("on D p50", "p50_ttft_first_decode_ms",
           means="ms: TTFT if the first token is out only after the first"
           " decode step on D"),
    Column("tok/s", "output_throughput", means="output tokens per second"),
    Column("tok/J", "output_tokens_per_joule",
           means="output tokens per joule, all chips at their rated power"),
    Column("USD/M tok", "usd_per_million_output_tokens",
           means="US dollars per million output tokens, at the chip's price"),
    Column("sent", "sent", digits=9, means="requests sent"),
    Column("completed", "completed", digits=9, means="requests that finished"),
)


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
  """What is shown, and what is sorted by."""

  text: str
  value: str
  tip: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
  columns: Sequence[Column]
  rows: Sequence[tuple[Record, Sequence[Cell]]]


def table_of(records: Sequence[Record]) -> Table:
  """Columns without a value in any run are left out."""
  columns = [
      column for column in COLUMNS
      if any(_known(column, record) for record in records)
  ]
  return Table(columns, [
      (record, [_cell(column, record) for column in columns])
      for record in records
  ])


def _known(column: Column, record: Record) -> bool:
  summary = record.summary
  return summary.get(column.key) is not None or (
      column.key in summary.get("refused", ())
  )


def _cell(column: Column, record: Record) -> Cell:
  value = record.summary.get(column.key)
  if column.key in record.summary.get("refused", ()):
    percent = float(column.key[1:].partition("_")[0])
    return Cell(f"n<{needed(percent)}", "")
  if value is None:
    return Cell("–", "")
  return Cell(_number(value * column.scale, column.digits), f"{value!r}",
              _bounds(column, record))


def _number(value: float, digits: int) -> str:
  if value >= 10 ** digits:
    return f"{value:,.0f}"
  return f"{value:.{digits}g}" if value else "0"


def _bounds(column: Column, record: Record) -> str:
  low, high = (
      record.summary.get(f"{column.key}_{end}") for end in ("low", "high")
  )
  if low is None or high is None:
    return ""
  bounds = [_number(b * column.scale, column.digits) for b in (low, high)]
  return f"95 %: {bounds[0]} to {bounds[1]}"


def differences(
    records: Sequence[Record],
) -> tuple[list[str], list[list[str]]]:
  """Config fields that differ between runs, and each run's values."""
  flat = [_flat(record.tree()) for record in records]
  names = sorted({name for one in flat for name in one})
  each = {name: [word(one.get(name)) for one in flat] for name in names}
  differing = [name for name in names if len(set(each[name])) > 1]
  return differing, [
      [each[name][row] for name in differing] for row in range(len(records))
  ]


def _flat(tree: Any, path: str = "") -> dict[str, Any]:
  if not isinstance(tree, Mapping) or not tree:
    return {path: tree}
  found: dict[str, Any] = {}
  for name, value in tree.items():
    found |= _flat(value, f"{path}.{name}" if path else name)
  return found


def word(value: Any) -> str:
  """A value as a reader would write it."""
  if value is None:
    return "–"
  if isinstance(value, str):
    return value
  if isinstance(value, float):
    return f"{value:g}"
  return json.dumps(value, sort_keys=True)
