"""A measured trade: one prefill and one decode server, or two that do both.

Qwen2.5-7B with 4-bit weights, TP 4 on servers of four A10 joined by PCIe,
SGLang of April 2025, Poisson arrivals, 50 requests (kvcache-ai/Mooncake, its
SGLang benchmarks). Two conditions are taken from the figures themselves: end to
end and gap times imply 371 tokens out on the mean, so lengths are drawn between
half of 8192 in and 512 out and all of it; with them the throughput implies
that the 50 arrived at 1.2 a second, where 1.0 was asked for. The network
between the servers is not stated; 100 Gb/s is assumed, and matters little.

The published run is one draw of 50 requests; the simulator's figures are
medians over seeds, with the range that nine of ten of them keep.
"""

import csv
import dataclasses
from pathlib import Path

import numpy as np

from pdjax.calibrate.published.simulated import simulated
from pdjax.config import (
    Cluster,
    Lengths,
    Link,
    Model,
    Pool,
    Run,
    Strategy,
    Workload,
)
from pdjax.metrics.throughput import makespan_ns
from pdjax.simulate.scalars import Scalars

FIGURES = {
    "TTFT p99, ms": "ttft_p99_ms",
    "TTFT mean, ms": "ttft_mean_ms",
    "ITL mean, ms": "itl_mean_ms",
    "ITL p99, ms": "itl_p99_ms",
    "e2e mean, ms": "e2e_mean_ms",
    "output tokens a second": "out_tok_s",
}
"""What is compared, and its column in the published table."""
SEEDS = 20
_NS_PER_MS = 1e6


@dataclasses.dataclass(frozen=True, slots=True)
class Compared:
  """One figure of both set-ups; ratios are 1P1D over the other."""

  name: str
  measured: tuple[float, float]
  """Of 1P1D, and of two servers that do both."""
  simulated: tuple[float, float]
  simulated_ratios: tuple[float, float, float]
  """5th percentile, median, 95th over seeds."""

  @property
  def measured_ratio(self) -> float:
    return self.measured[0] / self.measured[1]

  @property
  def same_order(self) -> bool:
    """Whether both say the same set-up is lower."""
    return (self.measured_ratio < 1) == (self.simulated_ratios[1] < 1)


def compare(path: Path, scalars: Scalars | None = None) -> list[Compared]:
  """Published figures beside simulated ones."""
  split, both = list(csv.DictReader(path.open()))
  seen = [
      np.array([_figures(run, scalars) for run in runs])
      for runs in ([_run(kind, seed) for seed in range(SEEDS)]
                   for kind in ("disaggregated", "continuous"))
  ]
  return [
      Compared(
          name=name,
          measured=(float(split[column]), float(both[column])),
          simulated=(_quantile(ours, 0.5), _quantile(theirs, 0.5)),
          simulated_ratios=(
              _quantile(ours / theirs, 0.05), _quantile(ours / theirs, 0.5),
              _quantile(ours / theirs, 0.95),
          ),
      )
      for (name, column), ours, theirs in zip(
          FIGURES.items(), seen[0].T, seen[1].T, strict=True
      )
  ]


def _quantile(values: np.ndarray, share: float) -> float:
  return float(np.quantile(values, share))


def _run(kind: str, seed: int) -> Run:
  pools = (Pool(role="C", count=2, tp=4),)
  if kind == "disaggregated":
    pools = (Pool(role="P", count=1, tp=4), Pool(role="D", count=1, tp=4))
  return Run(
      model=Model(preset="qwen2.5-7b", weight_dtype="int4"),
      cluster=Cluster(
          pools=pools, chip="a10", link=Link(bandwidth_bytes_per_s=12.5e9)
      ),
      strategy=Strategy(kind=kind),
      workload=Workload(
          num_requests=50, rate=1.2, seed=seed,
          prompt=_upper_half(8192), output=_upper_half(512),
      ),
  )


def _upper_half(longest: int) -> Lengths:
  return Lengths(
      kind="empirical", values=tuple(range(longest // 2, longest + 1))
  )


def _figures(run: Run, scalars: Scalars | None) -> list[float]:
  """In the order of `FIGURES`."""
  table = simulated(run, scalars)
  ttft, itl = table.sample("ttft"), table.sample("itl")
  tokens = int(table["output_tokens"].sum())
  times_ns = (
      ttft.percentile(99), ttft.mean(), itl.mean(), itl.percentile(99),
      table.sample("e2el").mean(),
  )
  assert None not in times_ns
  made_per_s = tokens / makespan_ns(table) * 1e9
  return [*(float(t or 0) / _NS_PER_MS for t in times_ns), made_per_s]
