"""Llama-70B in FP8 on H100 under vLLM, a fixed number of users at a time.

Each user sends a request when the one before is answered; all begin at once.
(InferenceX, by way of ai-dynamo/aiconfigurator; conditions as the data's README
states them.)
"""

import csv
import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path

from pdjax.calibrate.published.readings import Reading
from pdjax.calibrate.published.simulated import simulated
from pdjax.config import Cluster, Lengths, Model, Run, Strategy, Workload
from pdjax.metrics.requests import RequestTable
from pdjax.simulate.scalars import Scalars

_ROUNDS = 10
"""Requests of each user."""
_SHORTEST = 0.8
"""Of the stated length; lengths are uniform from there."""
_FITTED_TP = 4
_NS_PER_MS = 1e6


def readings(path: Path) -> list[Reading]:
  """TPOT and TTFT of each row; scalars are fitted on those at TP 4."""
  return [*_readings(path)]


def _readings(path: Path) -> Iterator[Reading]:
  for row in csv.DictReader(path.open()):
    tp, users = int(row["tp"]), int(row["concurrency"])
    loop = _Loop(tp, users, int(row["isl"]), int(row["osl"]))
    for metric in ("tpot", "ttft"):
      yield Reading(
          source=f"Llama-70B H100 {metric.upper()}",
          case=f"tp {tp}, {users} users",
          engine="vLLM 0.10",
          measured_ms=float(row[f"{metric}_ms"]),
          fitted=tp == _FITTED_TP,
          price_ms=functools.partial(_price_ms, loop, metric),
      )


@dataclasses.dataclass(frozen=True, slots=True)
class _Loop:
  tp: int
  users: int
  prompt_tokens: int
  output_tokens: int

  def run(self) -> Run:
    return Run(
        model=Model(
            preset="llama-3.1-70b", weight_dtype="fp8", kv_dtype="fp8"
        ),
        cluster=Cluster(split="1C", tp=self.tp, chip="h100-sxm"),
        strategy=Strategy(
            kind="chunked", chunk_size=8192, max_num_seqs=self.users
        ),
        workload=Workload(
            num_requests=_ROUNDS * self.users,
            arrival="closed",
            concurrency=self.users,
            prompt=_uniform(self.prompt_tokens),
            output=_uniform(self.output_tokens),
        ),
    )


def _uniform(longest: int) -> Lengths:
  return Lengths(
      kind="empirical",
      values=tuple(range(round(_SHORTEST * longest), longest + 1)),
  )


def _price_ms(loop: _Loop, metric: str, scalars: Scalars) -> float:
  mean_ns = _served(loop, scalars).sample(metric).mean()
  assert mean_ns is not None  # every request ends
  return mean_ns / _NS_PER_MS


@functools.lru_cache(maxsize=2)
def _served(loop: _Loop, scalars: Scalars) -> RequestTable:
  return simulated(loop.run(), scalars)
