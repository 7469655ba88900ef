"""Step costs of six fitted numbers; what calibration measures and fits.

A step costs a fixed time, a time per prompt chunk (a program call), per prompt
token, per pair of prompt token and attended token, per decoding sequence and
per token it attends to. Tokens and sequences count as padded where programs are
compiled for a few sizes only.

Units: `_ps` picoseconds.
"""

import bisect
import dataclasses

from pdjax.schedule.cost import StepShape
from pdjax.segments import Segment


@dataclasses.dataclass(frozen=True, slots=True)
class Padding:
  """Sizes that an engine pads its passes up to; none: it pads nothing."""

  sequences: tuple[int, ...] = ()
  """Of decodes alone; beside prompts they are padded to the last."""
  prompt_tokens: tuple[int, ...] = ()

  def decodes(self, count: int, beside_prompts: bool) -> int:
    if count and beside_prompts and self.sequences:
      return self.sequences[-1]
    return _padded(self.sequences, count)

  def prompts(self, tokens: int) -> int:
    """More than the largest size are several passes, the last one padded."""
    most = self.prompt_tokens[-1] if self.prompt_tokens else 0
    whole = tokens // most * most if most else 0
    return whole + _padded(self.prompt_tokens, tokens - whole)


UNPADDED = Padding()


def _padded(sizes: tuple[int, ...], count: int) -> int:
  at = bisect.bisect_left(sizes, count)
  return sizes[at] if count and at < len(sizes) else count


@dataclasses.dataclass(frozen=True, kw_only=True)
class FittedCost:
  """Prices steps by a linear fit; the simulator's `WorkerCost`."""

  fixed_ps: int
  chunk_ps: int
  prompt_token_ps: int
  prompt_pair_ps: int
  decode_ps: int
  context_token_ps: int
  copy_ps_per_byte: float
  """Of gathering, and of scattering, a hand-off's pages."""
  kv_bytes_per_token: int
  padding: Padding = UNPADDED

  def step(self, shape: StepShape) -> tuple[Segment, ...]:
    """See `StepCost.step`; a decode run is one straight line."""
    counts = features(shape, self.padding)
    first_ps = sum(
        getattr(self, price) * count
        for price, count in zip(PRICES, counts, strict=True)
    )
    slope_ps = shape.decode_seqs * self.context_token_ps
    return (Segment(shape.repeats, max(1, first_ps), slope_ps),)

  def transfer_bytes(self, tokens: int) -> int:
    return tokens * self.kv_bytes_per_token

  def gather_ps(self, size_bytes: int) -> int:
    return round(size_bytes * self.copy_ps_per_byte)

  def scatter_ps(self, size_bytes: int) -> int:
    return round(size_bytes * self.copy_ps_per_byte)


PRICES = (
    "fixed_ps", "chunk_ps", "prompt_token_ps", "prompt_pair_ps", "decode_ps",
    "context_token_ps",
)
"""Of `FittedCost`, in the order of `features`."""


def features(
    shape: StepShape, padding: Padding = UNPADDED
) -> tuple[int, ...]:
  """What a step is charged for, in the order of `PRICES`.

  >>> features(StepShape(((4, 10),), 2, 50))
  (1, 1, 4, 50, 2, 50)
  """
  return (
      1,
      len(shape.prefill),
      padding.prompts(sum(tokens for tokens, _ in shape.prefill)),
      sum(_pairs(tokens, cached) for tokens, cached in shape.prefill),
      padding.decodes(shape.decode_seqs, bool(shape.prefill)),
      shape.decode_context_tokens,
  )


def _pairs(tokens: int, cached: int) -> int:
  """Pairs of a chunk's token and one it attends to, causal."""
  return tokens * cached + tokens * (tokens + 1) // 2
