"""The range of each number in a config, each by itself.

Upper bounds are far beyond any machine: they keep a slip of the pen from
running for days or from filling the memory. Workloads know their own ranges
(`pdjax.workload.mistakes`).
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from pdjax.config import DEGREES, Run
from pdjax.fieldtypes import shown
from pdjax.unknown import UNKNOWN

MAX_TOKENS = 10**9
MAX_SECONDS = 10**9
MAX_WORKERS = 1024
MAX_SEED = 2**32 - 1
HARMS = ("drop", "delay", "corrupt", "slow")
"""What `faults` can do to a share of the transfers."""


@dataclasses.dataclass(frozen=True)
class Range:
  """From `low` to `high`; `above` excludes `low`, `below` excludes `high`."""

  low: float
  high: float
  above: bool = False
  below: bool = False

  def __contains__(self, value: float) -> bool:
    return self.low <= value <= self.high and not (
        (self.above and value == self.low)
        or (self.below and value == self.high)
    )

  def __str__(self) -> str:
    if self.above and self.below:
      return f"above {self.low:g} and below {self.high:.10g}"
    if self.above:
      return f"above {self.low:g} and at most {self.high:.10g}"
    if self.below:
      return f"at least {self.low:g} and below {self.high:.10g}"
    return f"from {self.low:g} to {self.high:.10g}"


_TOKENS = Range(1, MAX_TOKENS)
_DEGREE = Range(1, 1024)
_SEED = Range(0, MAX_SEED)
LIMIT_S = Range(0, MAX_SECONDS, above=True)
"""Of a latency that an SLO allows."""

_PAUSE_S = Range(0, 10**6, above=True)
"""Well within what a log can tell, 106 days."""

RANGES: dict[str, Range] = {
    "backend.draw": _SEED,
    "model.seed": _SEED,
    "cluster.pools.count": Range(1, MAX_WORKERS),
    **{f"cluster.pools.{name}": _DEGREE for name in DEGREES},
    "cluster.pools.chunk_size": _TOKENS,
    "cluster.pools.max_num_seqs": Range(1, 10**6),
    "cluster.pools.kv_tokens": _TOKENS,
    **{f"cluster.{name}": _DEGREE for name in DEGREES},
    "cluster.link.bandwidth_bytes_per_s": Range(1e6, 1e15),
    "cluster.link.latency_s": Range(0, 10),
    "cluster.kv_tokens": _TOKENS,
    "cluster.hbm_utilization": Range(0, 1, above=True),
    "cluster.reserve_pages": Range(0, 10**6),
    "cluster.host_kv_tokens": _TOKENS,
    "cluster.host_bytes_per_s": Range(1e6, 1e15),
    "cluster.host_devices": Range(1, 256),
    "strategy.chunk_size": _TOKENS,
    "strategy.elastic.queue_tokens": Range(0, MAX_TOKENS),
    "strategy.elastic.window_s": LIMIT_S,
    "strategy.elastic.pause_s": Range(0, MAX_SECONDS),
    "strategy.lanes.prefill_compute": Range(0, 1, above=True, below=True),
    "strategy.lanes.prefill_bandwidth": Range(0, 1, above=True, below=True),
    "strategy.transfer.layers": Range(1, 1024),
    "strategy.transfer.staging_bytes": Range(1, 10**15),
    "strategy.local_prompt_tokens": Range(0, MAX_TOKENS),
    "strategy.local_prefix_share": Range(0, 1, above=True),
    "strategy.max_num_batched_tokens": _TOKENS,
    "strategy.max_num_seqs": Range(1, 10**6),
    "slo.ttft_s": LIMIT_S,
    "slo.tpot_s": LIMIT_S,
    "slo.unloaded_s": LIMIT_S,
    "slo.attainment": Range(0, 1, above=True),
    "faults.events.at_s": Range(0, MAX_SECONDS),
    "faults.events.request": Range(0, 10**9),
    "faults.events.worker": Range(0, MAX_WORKERS - 1),
    "faults.events.down_s": Range(0, MAX_SECONDS),
    "faults.events.times": Range(1, 10**6),
    **{f"faults.{name}_share": Range(0, 1) for name in HARMS},
    "faults.delay_s": _PAUSE_S,
    "faults.slow_factor": Range(1, 10**6, above=True),
    "faults.worker_up_s": Range(1e-6, MAX_SECONDS),
    "faults.worker_down_s": Range(1e-6, MAX_SECONDS),
    "faults.seed": _SEED,
    "faults.retries": Range(0, 1000),
    "faults.backoff_s": Range(0, _PAUSE_S.high),
    "faults.wait_s": _PAUSE_S,
    "sampling.temperature": Range(0, 100),
    "sampling.top_k": Range(0, 10**6),
    "sampling.top_p": Range(0, 1, above=True),
    "sampling.min_p": Range(0, 1, below=True),
    "sampling.stop_ids": Range(0, 10**6),
    "sampling.seed": _SEED,
    "engine.max_programs": Range(1, 10**4),
    "engine.verify_tokens": Range(0, 10**6),
    "engine.device_flops_per_s": Range(1e6, 1e21),
    "engine.device_bytes_per_s": Range(1e6, 1e21),
}
"""By dotted path; a field of pools means that of each pool."""


def out_of_range(run: Run) -> Iterator[str]:
  """A line for each number outside its range."""
  for path, allowed in RANGES.items():
    for place, value in _numbers(run, path):
      if value not in allowed:
        yield f"{place}: must be {allowed}, got {shown(value)}"


def _numbers(value: Any, path: str, place: str = "") -> Iterator[tuple]:
  """The known numbers at a path and their places, of each pool and role."""
  if value is None or value is UNKNOWN:
    return
  if isinstance(value, tuple):
    for index, item in enumerate(value):
      yield from _numbers(item, path, f"{place}[{index}]")
  elif isinstance(value, dict):
    for key, item in value.items():
      yield from _numbers(item, path, f"{place}.{key}")
  elif path:
    name, _, rest = path.partition(".")
    place = f"{place}.{name}" if place else name
    yield from _numbers(getattr(value, name), rest, place)
  else:
    yield place, value
