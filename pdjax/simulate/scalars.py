"""What a program reaches of a data sheet, and what it spends besides.

These are the numbers a calibration fits. The defaults are assumptions, each
with its reason; nothing here was measured on the machine being simulated.

Units: efficiencies are shares of a peak, `_s` seconds, `_bytes` bytes.
"""

import dataclasses
import math


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Scalars:
  """Ceilings and overheads of a cost model."""

  matmul_efficiency: float = 0.75
  """Of peak FLOP/s in matrix products whose tiles fill the chip. Assumed:
  tuned libraries report 0.7 to 0.8 of large ones."""
  attention_efficiency: float = 0.5
  """Of peak FLOP/s in attention. Assumed: FlashAttention-2 (arXiv 2307.08691)
  reports up to 0.72 without a mask, less with one."""
  hbm_efficiency: float = 0.85
  """Of peak memory bandwidth, for weights and activations. Assumed: plain reads
  reach 0.90 to 0.92 on RTX 4090, A100 and H100 (Luo et al., arXiv 2402.13499),
  products of few rows less."""
  kv_efficiency: float = 0.8
  """Of peak memory bandwidth, for the KV cache. Assumed: less than weights,
  since pages are scattered and sequences differ in length."""
  link_efficiency: float = 0.7
  """Of the interconnect, in a collective. Assumed."""
  host_link_efficiency: float = 0.75
  """Of PCIe, in a collective; packets' headers and acknowledgements take a
  fifth. Assumed."""
  network_efficiency: float = 0.8
  """Of the links between hosts. Assumed."""
  exchange_latency_s: float = 3.5e-6
  """Of two chips' exchange, until data move. A collective is two of them, since
  all must be ready first; a ring all-reduce is two collectives, a scattered sum
  and a gathering. Assumed, with hops, after NCCL's tuning table: rings over
  NVLink (LL128) begin after 14 us and take 1.9 us a hop."""
  engine_exchange_s: float = 1.65e-6
  """The same of engines' own all-reduces, and on a torus, where collectives are
  compiled into the program. Assumed: as NCCL's protocol for short
  messages, 6.6 us for an all-reduce of four exchanges."""
  hop_latency_s: float = 1.9e-6
  """Of one hop of a ring over NVLink; over PCIe, networks and a torus in
  proportion (`pdjax.simulate.collectives`)."""
  kernel_latency_s: float = 3e-6
  """From the end of one kernel's work to the start of the next one's that
  needs it. Assumed: the shortest kernels in published profiles take 2 to 5."""
  launch_s: float = 0.0
  """Host time to launch one kernel. While all of a step's launches take longer
  than its kernels, they are the step. 0: programs compiled or captured."""
  step_overhead_s: float = 2e-3
  """Host work of a step that no kernel hides. Assumed: published engines spend
  3 to 7 ms a step outside the weights, gaps between kernels included."""
  host_overlap: float = 0.0
  """Of the host's work, the share done while the step before computes, as
  engines do that schedule ahead. Not spent unless it takes longer than that."""
  request_overhead_s: float = 20e-6
  """Of each request in a step. Assumed."""
  chunk_overhead_s: float = 0.0
  """Host work of each prompt chunk, on top."""
  microbatch_overhead_s: float = 2e-4
  """Of each part of a step beyond the first that passes through a pipeline.
  Assumed."""
  copy_overhead_s: float = 50e-6
  """Of one gather or scatter of pages. Assumed."""
  own_reduce_bytes: int = 8 * 1024 * 1024
  """Largest message that an engine reduces among the chips of one host by
  kernels of its own, in one or two shots; 0 where it cannot. Assumed, as in
  vLLM since 2024."""

  def __post_init__(self):
    for field in dataclasses.fields(self):
      value = getattr(self, field.name)
      if field.name.endswith("_efficiency"):
        if not 0 < value <= 1:
          raise ValueError(f"{field.name}={value} must be in (0, 1]")
      elif not 0 <= value < math.inf:
        raise ValueError(f"{field.name}={value} must be at least 0 and finite")
    if self.host_overlap > 1:
      raise ValueError(f"{self.host_overlap=} must be in [0, 1]")
