"""The figures that rivals are compared by: names in a row, words, direction.

What depends on when the first token counts as out is given under every anchor,
so that a verdict that hangs on the definition is seen.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from pdjax.metrics.anchors import ANCHORS


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
  """A figure of `summary.json`, or one made of it per chip."""

  key: str
  words: str
  more: bool
  """Whether more is better."""
  scale: float = 1
  per_chip: bool = False
  """To be divided by all chips of the run."""
  bounds: tuple[str, str] | None = None
  """Where the row has its 95 % bounds."""

  @property
  def name(self) -> str:
    """Of the figure itself, for files."""
    return f"{self.key}_per_chip" if self.per_chip else self.key

  def of(self, row: Mapping[str, Any]) -> Any:
    """A number, a (low, high) of a claim, or None where a row has none."""
    return self._divided(row, row.get(self.key))

  def bounds_of(self, row: Mapping[str, Any]) -> tuple[float, float] | None:
    """95 % bounds from the run itself, where it has some."""
    if self == GOODPUT:
      return _goodput_bounds(row)
    if self.bounds is None:
      return None
    low, high = (self._divided(row, row.get(key)) for key in self.bounds)
    return None if low is None or high is None else (low, high)

  def _divided(self, row: Mapping[str, Any], value: Any) -> Any:
    if value is None or not self.per_chip:
      return value
    chips = row.get("chips")
    return value / chips if chips else None


_LATENCY_BOUNDS = ("ttft", "tpot", "e2el")


def _latency(metric: str, statistic: str, words: str) -> Figure:
  key = f"{statistic}_{metric}"
  known = (statistic == "mean" and metric in _LATENCY_BOUNDS) or metric == "itl"
  return Figure(
      f"{key}_ms", f"{words} {statistic}, ms", False,
      bounds=(f"{key}_low_ms", f"{key}_high_ms") if known else None,
  )


GOODPUT = Figure(
    "request_goodput_per_chip", "goodput, requests/s/chip", True
)


def _goodput_bounds(row: Mapping[str, Any]) -> tuple[float, float] | None:
  """Those of the attainment: over a fixed window only it is uncertain."""
  share, goodput = row.get("slo_attainment"), GOODPUT.of(row)
  ends = (row.get("slo_attainment_low"), row.get("slo_attainment_high"))
  if row.get("workload.protocol") != "steady" or not share or None in ends:
    return None
  low, high = (goodput * end / share for end in ends)
  return low, high


PLAIN = (
    Figure("max_goodput_rate_per_chip", "highest rate, /s/chip", True),
    GOODPUT,
    Figure("request_throughput", "finished, requests/s/chip", True,
           per_chip=True),
    Figure("output_throughput", "output, tokens/s/chip", True, per_chip=True),
    Figure("slo_attainment", "SLO attainment, %", True, 100,
           bounds=("slo_attainment_low", "slo_attainment_high")),
    _latency("ttft", "mean", "TTFT"),
    _latency("tpot", "mean", "TPOT"),
    _latency("itl", "p50", "ITL"),
    _latency("itl", "p99", "ITL"),
    _latency("e2el", "mean", "end to end"),
    Figure("output_tokens_per_joule", "output, tokens/J", True),
    Figure("usd_per_million_output_tokens", "USD per million tokens", False),
)

ANCHORED: dict[str, dict[str, Figure]] = {
    stem: {
        anchor: Figure(f"{stem}_{anchor}{unit}", words, more, scale)
        for anchor in ANCHORS
    }
    for stem, words, more, unit, scale in (
        ("slo_attainment", "SLO attainment, %", True, "", 100),
        ("p50_ttft", "TTFT p50, ms", False, "_ms", 1),
        ("p99_ttft", "TTFT p99, ms", False, "_ms", 1),
        ("p50_tpot", "TPOT p50, ms", False, "_ms", 1),
        ("p99_tpot", "TPOT p99, ms", False, "_ms", 1),
    )
}
"""Figures that there are once an anchor, by stem and anchor."""
