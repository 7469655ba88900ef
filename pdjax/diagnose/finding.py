"""What a diagnosis says: a verdict, its evidence, and what to change."""

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
    CANNOT_TELL: "the data do not decide",
}

PHASES = {
    "generator": "the load generator",
    "prefill_queue": "prefill",
    "prefill": "prefill",
    "interference": "prompts beside answers",
    "transfer": "the hand-off",
    "decode_memory": "decode, its memory",
    "decode_bandwidth": "decode",
    "decode_compute": "decode",
    "batch_limit": "decode, its batch limit",
    CANNOT_TELL: "the data do not decide",
}
"""What binds, by verdict: which part of a split wants more."""

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
  share: float | None = None
  """Of the mean request's time that is the verdict's, where that is known."""
  where_ms: dict[str, float] = dataclasses.field(default_factory=dict)
  """Mean time of a finished request by part, where that is known."""
  notes: tuple[str, ...] = ()
  """What the data cannot show, and doubts about it."""
  advice: tuple[str, ...] = ()

  def as_json(self) -> dict[str, Any]:
    return {
        **dataclasses.asdict(self), "title": TITLES[self.verdict],
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
