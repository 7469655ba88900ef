"""Step costs of an engine that compiles few sizes and pads its passes to them.

Prompts of a step are packed into passes, as the engine packs them; the last is
padded to the smallest size that holds it, and decodes join that one in as many
rows as a worker ever has. Decodes alone are padded to the smallest size that
holds them. Padding goes through the layers and the output projection; attention
reads true contexts (docs/decisions/0004).
"""

import dataclasses
from typing import Any

from pdjax.buckets import Buckets, packed, rung
from pdjax.schedule.cost import StepShape
from pdjax.segments import Segment
from pdjax.simulate.costs import AnalyticalCost
from pdjax.simulate.work import Work


class PaddedCost:
  """Prices the steps of one worker as its engine pads them. A `StepCost`."""

  def __init__(self, cost: AnalyticalCost, buckets: Buckets):
    """`cost` prices a pass of any size; `buckets` are what is compiled."""
    self.cost, self.buckets = cost, buckets
    self.spec, self.chip = cost.spec, cost.chip
    self.dtypes, self.layout = cost.dtypes, cost.layout
    self.scalars = cost.scalars

  @property
  def provenance(self) -> dict[str, Any]:
    """What these prices rest on; JSON-able."""
    told = self.cost.provenance
    return {
        **told,
        "accuracy": f"{told['accuracy']}; passes padded as by pdjax' engine",
        "padded_sequences": list(self.buckets.B),
        "padded_prompt_tokens": list(self.buckets.U),
    }

  def step(self, shape: StepShape) -> tuple[Segment, ...]:
    """Times of the shape's passes; see `StepCost.step`."""
    if not shape.prefill:
      return self.cost.decodes(shape, self.rows(shape))
    if shape.repeats != 1:
      raise ValueError(f"{shape.repeats=} must be 1 with prefill")
    return (Segment(1, sum(map(self._pass_ps, self.passes(shape)))),)

  def passes(self, shape: StepShape) -> list[StepShape]:
    """The passes of a shape's step, as they are before they are padded."""
    if not shape.prefill:
      return [shape]
    *first, last = self._packs(shape.prefill)
    joined = dataclasses.replace(shape, prefill=last)
    return [*(StepShape(prefill=chunks) for chunks in first), joined]

  def rows(self, one_pass: StepShape) -> int:
    """Tokens of a pass that go through the layers, padding included."""
    if not one_pass.prefill:
      return rung(self.buckets.B, one_pass.decode_seqs)
    tokens = sum([size for size, _ in one_pass.prefill])
    return rung(self.buckets.U, tokens) + self._beside(one_pass)

  def _beside(self, one_pass: StepShape) -> int:
    """Rows for decodes in a pass with prompts."""
    return self.buckets.B[-1] if one_pass.decode_seqs else 0

  def _pass_ps(self, one_pass: StepShape) -> int:
    logits = self.buckets.R + self._beside(one_pass)
    return self.cost.one_pass_ps(one_pass, self.rows(one_pass), logits)

  def _packs(
      self, chunks: tuple[tuple[int, int], ...]
  ) -> list[tuple[tuple[int, int], ...]]:
    """Per pass its chunks: (tokens, tokens of the same request before them)."""
    sizes = [size for size, _ in chunks]
    cached = [context for _, context in chunks]
    packs = []
    for pack in packed(sizes, self.buckets.U[-1], self.buckets.R):
      packs.append(tuple([(size, cached[place]) for place, size in pack]))
      for place, size in pack:
        cached[place] += size
    return packs

  def work(self, shape: StepShape) -> Work:
    """Operations and bytes that the shape's passes need, padding aside."""
    return self.cost.work(shape)

  def transfer_bytes(self, tokens: int) -> int:
    return self.cost.transfer_bytes(tokens)

  def gather_ps(self, size_bytes: int) -> int:
    return self.cost.gather_ps(size_bytes)

  def scatter_ps(self, size_bytes: int) -> int:
    return self.cost.scatter_ps(size_bytes)
