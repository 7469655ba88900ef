"""What a program reaches of a data sheet, and what it spends besides.

These are the numbers a calibration fits. The defaults are assumptions, each
with its reason; nothing here was measured on the machine being simulated.

Units: efficiencies are shares of a peak, `_s` seconds, `_bytes` bytes.
"""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Scalars:
  """Ceilings and overheads of a cost model."""

  matmul_efficiency: float = 0.75
  """Of peak FLOP/s in matrix products whose tiles fill the chip. Assumed:
  tuned libraries report 0.7 to 0.8 of large ones."""
  attention_efficiency: float = 0.5
  """Of peak FLOP/s in attention. Assumed: FlashAttention-2 (arXiv 2307.08691)
  reports up to 0.72 without a mask, less with one."""
  hbm_efficiency: float = 0.8
  """Of peak memory bandwidth, for weights and activations. Assumed: streaming
  reads reach 0.8 to 0.9."""
  kv_efficiency: float = 0.7
  """Of peak memory bandwidth, for the KV cache. Assumed: less than weights,
  since pages are scattered and sequences differ in length."""
  link_efficiency: float = 0.7
  """Of the interconnect, in a collective. Assumed."""
  host_link_efficiency: float = 0.75
  """Of PCIe, in a collective; packets' headers and acknowledgements take a
  fifth. Assumed."""
  network_efficiency: float = 0.8
  """Of the links between hosts. Assumed."""
  exchange_latency_s: float = 2.5e-6
  """Of two chips' exchange, until data move. A collective is two of them, since
  all must be ready first; an all-reduce is two collectives, a scattered sum and
  a gathering. Assumed, with the next: small all-reduces on DGX A100 are said to
  take 16 us on 4 GPUs, 25 on 8."""
  hop_latency_s: float = 1e-6
  """Of one hop of a ring. Assumed."""
  kernel_latency_s: float = 3e-6
  """From the end of one kernel's work to the start of the next one's that
  needs it. Assumed: the shortest kernels in published profiles take 2 to 5."""
  launch_s: float = 0.0
  """Host time to launch one kernel. While all of a step's launches take longer
  than its kernels, they are the step. 0: programs compiled or captured."""
  step_overhead_s: float = 2e-3
  """Host work of a step that no kernel hides. Assumed: published engines spend
  3 to 7 ms a step outside the weights, gaps between kernels included."""
  request_overhead_s: float = 20e-6
  """Of each request in a step. Assumed."""
  chunk_overhead_s: float = 0.0
  """Host work of each prompt chunk, on top."""
  microbatch_overhead_s: float = 2e-4
  """Of each part of a step beyond the first that passes through a pipeline.
  Assumed."""
  copy_overhead_s: float = 50e-6
  """Of one gather or scatter of pages. Assumed."""
  one_shot_bytes: int = 512 * 1024
  """Largest message that chips of one host reduce in one exchange instead of
  around a ring; 0 where an engine cannot. Assumed, as in engines of 2024."""

  def __post_init__(self):
    for field in dataclasses.fields(self):
      value = getattr(self, field.name)
      if field.name.endswith("_efficiency"):
        if not 0 < value <= 1:
          raise ValueError(f"{field.name}={value} must be in (0, 1]")
      elif value < 0:
        raise ValueError(f"{field.name}={value} must not be negative")
