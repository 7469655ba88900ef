"""What a scheduler may ask about the price of a step.

A `StepCost` is injected by the caller: a policy that weighs steps sees this
protocol and never the simulator behind it.

Units: `_ps` integer picoseconds, `_tokens` tokens.
"""

from typing import Protocol

from pdjax.entry import entry
from pdjax.segments import Segment


@entry
class StepShape:
  """A pass over prompt chunks and decodes, or `repeats` passes of decodes."""

  prefill: tuple[tuple[int, int], ...] = ()
  """Per chunk: (its tokens, tokens of the same request already cached)."""
  decode_seqs: int = 0
  decode_context_tokens: int = 0
  """Tokens attended in the first pass, summed over the decoding sequences."""
  repeats: int = 1
  """More than 1 only without prefill."""
  decode_contexts: tuple[int, ...] = ()
  """The same by sequence; only a model with a sliding window needs it."""
  begins: bool = False
  """Decodes that their lane was not at just before: an engine that feeds tokens
  back on the device does more for the first pass. Only measured costs know."""
  rested_us: int = 0
  """Microseconds for which nobody on its host had worked when it began: cores
  sleep and caches get cold. Only measured costs know."""

  @property
  def tokens(self) -> int:
    """That go through the layers in one pass."""
    return self.decode_seqs + sum([tokens for tokens, _ in self.prefill])

  @property
  def rows(self) -> int:
    """Requests in it; each may have its logits made."""
    return self.decode_seqs + len(self.prefill)


class StepCost(Protocol):
  """Prices steps of one worker."""

  def step(self, shape: StepShape) -> tuple[Segment, ...]:
    """Times of the shape's passes, equal to asking pass by pass.

    Pass i + 1 attends to `decode_seqs` more tokens than pass i.
    """
    ...
