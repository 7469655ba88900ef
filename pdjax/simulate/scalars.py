"""What a program reaches of a data sheet, and what it spends besides.

These are the numbers a calibration fits. The defaults are assumptions, each
with its reason; nothing here was measured on the machine being simulated.

Units: efficiencies are shares of a peak, `_s` seconds.
"""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Scalars:
  """Ceilings and overheads of a cost model."""

  matmul_efficiency: float = 0.65
  """Of peak FLOP/s in large matrix products. Assumed: tuned libraries report
  0.6 to 0.75."""
  attention_efficiency: float = 0.5
  """Of peak FLOP/s in prefill attention. Assumed: FlashAttention-2 (arXiv
  2307.08691) reports up to 0.72 without a mask, less with one."""
  hbm_efficiency: float = 0.8
  """Of peak memory bandwidth. Assumed: streaming reads reach 0.8 to 0.9."""
  link_efficiency: float = 0.7
  """Of the interconnect, within a collective. Assumed."""
  hop_latency_s: float = 2e-6
  """Of one hop of a ring. Assumed: published all-reduces of 2 to 10 KB on
  DGX A100 take 16 us on 4 GPUs and 25 us on 8, 1.8 to 2.7 us a hop."""
  step_overhead_s: float = 3e-3
  """Host work and launches of a step. Assumed: published engines spend 3 to 7
  ms a step outside the weights."""
  request_overhead_s: float = 20e-6
  """Of each request in a step. Assumed."""
  copy_overhead_s: float = 50e-6
  """Of one gather or scatter of pages. Assumed."""

  def __post_init__(self):
    for field in dataclasses.fields(self):
      value = getattr(self, field.name)
      if field.name.endswith("_efficiency"):
        if not 0 < value <= 1:
          raise ValueError(f"{field.name}={value} must be in (0, 1]")
      elif value < 0:
        raise ValueError(f"{field.name}={value} must not be negative")
