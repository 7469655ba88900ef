"""What a diagnosis says: a verdict, its evidence, and what to change.

The rules of thumb behind the advice: docs/diagnose.md.
"""

import dataclasses
from typing import Any

CANNOT_TELL = "cannot_tell"

TITLES = {
    "generator": "the load generator is late",
    "prefill_queue": "requests queue before their first token",
    "prefill": "prefill itself takes the time",
    "interference": "prompts disturb running answers",
    "transfer": "the hand-off of KV takes the time",
    "decode_memory": "decode lacks memory for KV",
    "decode_bandwidth": "decode is bound by memory bandwidth",
    "decode_compute": "decode is bound by compute",
    "batch_limit": "the batch limit holds requests back",
    CANNOT_TELL: "cannot tell",
}

ADVICE = {
    "generator": (
        "Fix the load generator first: its own lag is in every latency here.",
    ),
    "prefill_queue": (
        "Give prefill more: in a split more P workers (2P1D, 3P1D), else more"
        " workers, or a lower rate.",
        "Where prompts are chunked, a larger chunk_size (2048 to 8192) serves"
        " queued prompts sooner, at the cost of steadiness.",
    ),
    "prefill": (
        "Faster prefill: more tensor parallelism or a chip with more FLOP/s"
        " for it; a prefix cache where prompts share beginnings.",
    ),
    "interference": (
        "Chunk prompts: strategy.kind='chunked' with chunk_size 512 to 2048"
        " steadies the time per token; smaller if it is chunked already.",
        "Or give decode workers of its own: strategy.kind='disaggregated'.",
    ),
    "transfer": (
        "A faster link, fewer KV bytes (kv_dtype), or P and D joined by an"
        " interconnect rather than a network.",
        "Where a hand-off takes longer than its prefill, splitting does not"
        " pay: compare with strategy.kind='chunked' on as many chips.",
    ),
    "decode_memory": (
        "More room for KV: more D workers or chips, a smaller kv_dtype or"
        " weight_dtype, a larger hbm_utilization.",
        "Or fewer requests at a time (max_num_seqs), so that none is"
        " preempted and computed again.",
    ),
    "decode_bandwidth": (
        "More memory bandwidth for decode (A100 2,039 GB/s, H100 3,350 GB/s)"
        " helps the time per token more than faster prefill would.",
        "Or fewer bytes a step: weights and KV in 8 bits, more tensor"
        " parallelism; larger batches share the weights' bytes.",
    ),
    "decode_compute": (
        "Fewer sequences a step, or more chips for decode.",
    ),
    "batch_limit": (
        "Raise strategy.max_num_seqs if memory for KV is left, else add"
        " workers of the role that is full.",
    ),
    CANNOT_TELL: (),
}

NO_PROFILER = (
    "MFU, MBU and compute-busy are not a profiler's GPU or SM utilisation, and"
    " no rule on that is applied to them."
)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
  """A diagnosis of one run."""

  source: str
  """What was looked at, and whether it is measured, simulated, or another
  tool's."""
  verdict: str
  """A key of `TITLES`."""
  evidence: tuple[str, ...]
  where_ms: dict[str, float] = dataclasses.field(default_factory=dict)
  """Mean time of a finished request by part, where that is known."""
  notes: tuple[str, ...] = ()
  """What the data cannot show, and doubts about it."""

  @property
  def advice(self) -> tuple[str, ...]:
    return ADVICE[self.verdict]

  def as_json(self) -> dict[str, Any]:
    return {
        **dataclasses.asdict(self), "title": TITLES[self.verdict],
        "advice": list(self.advice),
    }

  def lines(self) -> list[str]:
    """For a reader."""
    total_ms = sum(self.where_ms.values())
    parts = sorted(self.where_ms.items(), key=lambda item: -item[1])
    return [
        self.source,
        f"  verdict: {self.verdict}: {TITLES[self.verdict]}",
        *(f"  because  {line}" for line in self.evidence),
        *(
            f"  {ms:10.1f} ms {ms / total_ms:5.0%}  {part}"
            for part, ms in parts if ms >= 0.005 * total_ms > 0
        ),
        *(f"  change   {line}" for line in self.advice),
        *(f"  note     {line}" for line in self.notes),
    ]
