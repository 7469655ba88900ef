"""Which published measurements there are, and how scalars are fitted to them.

A kind of hardware has one set of scalars, at most ten, some of which may be of
one engine only. What is assumed of an engine is known from its authors, not
fitted.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from pdjax.calibrate.published import (
    closed_loop,
    kernel_times,
    kv_transfers,
    step_times,
)
from pdjax.calibrate.published.readings import Reading, ScalarSet
from pdjax.calibrate.scalarfit import Assumed, fit_scalars

MOST_SCALARS = 10
_RINGS_ONLY = {"own_reduce_bytes": 0}
"""NCCL before engines brought exchanges of their own."""
_EAGER = "vLLM of 2023"
_LAYERS = "measured/layer_times_a100.csv"
_COLLECTIVES = "measured/collectives_a100.csv"
_CLOSED_LOOP = "measured/silicon_llama70b_h100_vllm_1k1k.csv"
_TRANSFERS = "measured/kv_transfer_h800.csv"
_CAPACITY = "profiles/distserve_max_num_tokens.csv"
_DISTSERVE, _VLLM = (
    f"profiles/distserve_profiler-a100-80g.{engine}.json"
    for engine in ("distserve", "vllm")
)
_SPLITWISE = "profiles/splitwise_a100.csv"
FILES = (
    _LAYERS, _COLLECTIVES, _CLOSED_LOOP, _TRANSFERS, _CAPACITY, _DISTSERVE,
    _VLLM, _SPLITWISE,
)
"""All that readings are taken from, in the folder of published files."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hardware:
  """Readings of one kind of hardware, and first guesses of its scalars."""

  name: str
  families: tuple[str, ...]
  """Of chips that the fitted scalars are used for."""
  readings: tuple[Reading, ...]
  start: Mapping[str, float]
  assumed: Assumed
  evaluations: int
  fitted_on: str
  """Which part of the readings, in words."""

  def fit(self) -> ScalarSet:
    assert len(self.start) <= MOST_SCALARS
    return fit_scalars(
        self.readings, self.start, self.assumed, evaluations=self.evaluations
    )


def a100(data: Path) -> Hardware:
  capacity = data / _CAPACITY
  return Hardware(
      name="A100",
      families=("a100",),
      readings=(
          *kernel_times.layers(data / _LAYERS),
          *kernel_times.collectives(data / _COLLECTIVES),
          *step_times.distserve_fits(
              data / _DISTSERVE, capacity, "DistServe"
          ),
          *step_times.distserve_fits(
              data / _VLLM, capacity, "vLLM of 2024"
          ),
          *step_times.splitwise_rows(data / _SPLITWISE),
      ),
      start={
          "matmul_efficiency": 0.75,
          "attention_efficiency": 0.2,
          "hbm_efficiency": 0.77,
          "kv_efficiency": 0.62,
          "link_efficiency": 0.62,
          f"network_efficiency@{kernel_times.HOSTS}": 0.31,
          "exchange_latency_s": 9e-6,
          f"launch_s@{_EAGER}|vLLM of 2024": 4.5e-5,
          f"chunk_overhead_s@{_EAGER}": 0.018,
          "matmul_efficiency@vLLM of 2024": 0.5,
      },
      assumed={
          engine: _RINGS_ONLY
          for engine in (
              "", kernel_times.HOSTS, "DistServe", _EAGER, "vLLM of 2024"
          )
      },
      evaluations=540,
      fitted_on="layers of Llama-2-7B and Llama-3-70B; every second size of the"
      " collectives; OPT-13B at TP 1 and 4 and OPT-66B at TP 2 and 4;"
      " Llama2-70B at TP 2 and 8",
  )


def h100(data: Path) -> Hardware:
  return Hardware(
      name="H100 and H800",
      families=("hopper",),
      readings=(
          *closed_loop.readings(data / _CLOSED_LOOP),
          *kv_transfers.readings(data / _TRANSFERS),
      ),
      start={
          "matmul_efficiency": 0.65,
          "hbm_efficiency": 0.9,
          "request_overhead_s": 2e-5,
          "step_overhead_s": 2e-3,
          "network_efficiency": 0.75,
          "copy_overhead_s": 2e-4,
      },
      assumed={},
      evaluations=150,
      fitted_on="TPOT and TTFT at TP 4; every second length of the transfers",
  )
