"""One real vLLM run, request by request, served again by its own rules.

Three files: conditions and statistics (JSON), a row a request (CSV), the prefix
blocks of each prompt (JSON lines). casys-kaist/LLMServingSim publishes them.
Every request arrives when the engine queued it, has its own lengths and prefix,
and the pool has as many pages as the engine reported. Nothing else of the run
goes in.
"""

import csv
import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from pdjax.calibrate.published.simulated import simulated
from pdjax.config import (
    Cluster,
    ConfigError,
    Engine,
    Model,
    Run,
    Strategy,
)
from pdjax.metrics.requests import RequestTable
from pdjax.models.presets import PRESETS
from pdjax.request import Request
from pdjax.simulate.chips import of_device
from pdjax.simulate.scalars import Scalars
from pdjax.workload.workload import Workload

_PS_PER_S = 10**12
_KV_DTYPES = {
    None: None, "auto": None, "bfloat16": "bfloat16", "fp8": "fp8",
    "fp8_e4m3": "fp8", "fp8_e5m2": "fp8",
}


@dataclasses.dataclass(frozen=True)
class VllmRun:
  """What was asked of the engine, and what came of it."""

  name: str
  served: str
  """Which model was measured on what, as the run itself says it."""
  run: Run
  workload: Workload
  measured_ms: Mapping[str, np.ndarray]
  """ttft, tpot and e2el of each request."""
  makespan_s: float
  """From the first arrival to the last token."""

  def simulated(self, scalars: Scalars | None = None) -> RequestTable:
    """The same requests on the simulated engine."""
    return simulated(self.run, scalars, self.workload)


def read(folder: Path, name: str, *, preset: str, chip: str) -> VllmRun:
  """The run `name`: `NAME.json`, `NAME.requests.csv`, `NAME.hash_ids.jsonl`.

  Args:
    folder: of the three files.
    name: of the run.
    preset: the model's, in `pdjax.models.presets`.
    chip: that it ran on.

  Raises:
    ConfigError: the run says that it was of another model, or on another chip.
    KeyError: something is missing in the files.
  """
  (said,) = json.loads((folder / f"{name}.json").read_text()).values()
  rows = list(csv.DictReader((folder / f"{name}.requests.csv").open()))
  blocks = (folder / f"{name}.hash_ids.jsonl").read_text().splitlines()
  ids = [tuple(json.loads(line)["hash_ids"]) for line in blocks]
  conditions = said["conditions"]
  block_tokens = conditions["kv_cache"]["block_size"]
  model = conditions.get("model", "a model it does not name")
  device = conditions.get("hardware", {}).get("device_name", "")
  if mistakes := [*_other_model(model, preset), *_other_chip(device, chip)]:
    raise ConfigError(mistakes)
  return VllmRun(
      name=name,
      served=f"{model} on {device or 'a device it does not name'}",
      run=_run(conditions, preset, chip),
      workload=_workload(rows, ids, block_tokens),
      measured_ms={
          metric: np.array([float(row[column]) for row in rows])
          for metric, column in (
              ("ttft", "ttft_ms"), ("tpot", "tpot_ms"), ("e2el", "e2e_ms")
          )
      },
      makespan_s=said["measured"]["makespan_s"],
  )


def _other_model(model: str, preset: str) -> Iterator[str]:
  """A line if the run names a model that has a preset, which is another."""
  own = model.rpartition("/")[2].lower()
  names = [name for name in PRESETS if own.startswith(name)]
  if names and preset != (known := max(names, key=len)):
    yield (
        f"preset: the run is of {model}, so of {known!r}, not {preset!r}: what"
        " it measured is not comparable"
    )


def _other_chip(device: str, chip: str) -> Iterator[str]:
  known = of_device(device)
  if known is not None and known.name != chip:
    yield (
        f"chip: the run was measured on {device}, so on {known.name!r}, not"
        f" {chip!r}: it is not comparable with other chips"
    )


def _run(conditions: dict, preset: str, chip: str) -> Run:
  """Data-parallel engines are workers of their own, each with its own pages;
  with expert parallelism they step together, so they are one."""
  cache, engine = conditions["kv_cache"], conditions["engine_kwargs"]
  tp, dp = engine["tensor_parallel_size"], engine.get("data_parallel_size", 1)
  together = dp if engine.get("enable_expert_parallel") else 1
  ahead = conditions.get("scheduler", {}).get("async_scheduling", False)
  return Run(
      model=Model(
          preset=preset, kv_dtype=_KV_DTYPES[engine.get("kv_cache_dtype")]
      ),
      engine=Engine(dispatch_ahead=1 if ahead else 0),
      cluster=Cluster(
          split=f"{dp // together}C",
          tp=tp,
          dp=together,
          ep=tp * together if engine.get("enable_expert_parallel") else 1,
          chip=chip,
          page_tokens=cache["block_size"],
          kv_tokens=together * cache["num_kv_tokens"],
      ),
      strategy=Strategy(
          kind="vllm_v1",
          chunk_size=together * engine["max_num_batched_tokens"],
          max_num_seqs=together * engine["max_num_seqs"],
          prefix_cache=cache["enable_prefix_caching"],
      ),
  )


def _workload(
    rows: list[dict[str, str]], ids: list[tuple[int, ...]], block_tokens: int
) -> Workload:
  """Arrivals in order of queueing, which is that of the rows."""
  requests = tuple(
      Request(
          id=index,
          arrival_ps=round(float(row["queued_s"]) * _PS_PER_S),
          prompt_tokens=int(row["input"]),
          max_tokens=int(row["output"]),
          prefix_ids=prefix,
          prefix_block_tokens=block_tokens,
      )
      for index, (row, prefix) in enumerate(zip(rows, ids, strict=True))
  )
  return Workload(requests, tuple(int(row["output"]) for row in rows), {})
