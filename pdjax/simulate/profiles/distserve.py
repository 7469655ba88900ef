"""DistServe's fitted step times as a cost model.

For a model and a tensor-parallel degree the file holds three lines, in
milliseconds: a prefill step takes a + b * (its tokens) + c * (the sum of the
squares of its prompts' lengths); a decode step a + b * (its contexts together)
+ c * (its sequences), with other numbers from a batch size on. (Zhong et al.,
OSDI 2024, appendix A.)

What the lines do not speak of is priced so: a chunk after others is the
difference of two prompts; a step with both prompts and decodes is their sum
with the smaller constant left out. Those count as extrapolated.

Units: `_ps` integer picoseconds.
"""

import csv
import dataclasses
import json
from pathlib import Path

from pdjax.schedule.cost import StepShape
from pdjax.segments import Segment
from pdjax.simulate.rates import PS_PER_MS


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Line:
  """A constant and two slopes, whole picoseconds."""

  constant_ps: int
  first_ps: int
  second_ps: int

  @classmethod
  def of_ms(cls, numbers: tuple[float, float, float]) -> "Line":
    constant, first, second = (round(n * PS_PER_MS) for n in numbers)
    return cls(constant_ps=constant, first_ps=first, second_ps=second)

  def at(self, first: int, second: int) -> int:
    return self.constant_ps + first * self.first_ps + second * self.second_ps


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Lines:
  """Step times of one model on one number of chips. Prices steps."""

  prefill: Line
  small: Line
  """Decodes below `large_from` sequences."""
  large: Line
  large_from: int

  def decode(self, seqs: int) -> Line:
    return self.large if seqs >= self.large_from else self.small

  def step_ps(self, shape: StepShape) -> int:
    """Of the first pass; at least 1."""
    parts = []
    if shape.prefill:
      tokens = sum(chunk for chunk, _ in shape.prefill)
      squares = sum((c + n) ** 2 - c**2 for n, c in shape.prefill)
      parts.append((self.prefill, tokens, squares))
    if shape.decode_seqs:
      line = self.decode(shape.decode_seqs)
      parts.append((line, shape.decode_context_tokens, shape.decode_seqs))
    total_ps = sum(line.at(first, second) for line, first, second in parts)
    if len(parts) == 2:
      total_ps -= min(line.constant_ps for line, _, _ in parts)
    return max(1, total_ps)

  def segments(self, shape: StepShape) -> tuple[Segment, ...]:
    """Times of the shape's passes; a decode run is one straight line."""
    slope_ps = 0
    if shape.decode_seqs:
      line = self.decode(shape.decode_seqs)
      slope_ps = shape.decode_seqs * line.first_ps
    return (Segment(shape.repeats, self.step_ps(shape), slope_ps),)

  def provenance_of(self, shape: StepShape) -> str:
    """`measured`, or `extrapolated` where the lines say nothing."""
    mixed = bool(shape.prefill) and shape.decode_seqs > 0
    later = any(cached for _, cached in shape.prefill)
    return "extrapolated" if mixed or later else "measured"


def read(path: Path) -> dict[tuple[str, int], Lines]:
  """A profile's lines by (model's preset, tp)."""
  told = json.loads(path.read_text())
  return {
      (model.rpartition("/")[2], int(tp)): Lines(
          prefill=Line.of_ms(numbers["prefill"]),
          small=Line.of_ms(numbers["decoding_smallbs"]),
          large=Line.of_ms(numbers["decoding_largebs"]),
          large_from=numbers["decoding_large_small_bs_threshold"],
      )
      for model, by_tp in told.items()
      for tp, numbers in by_tp.items()
  }


def capacity_tokens(path: Path) -> dict[tuple[str, int, int], int]:
  """KV tokens that fit, by (model's preset, tp, pp)."""
  return {
      (row["model"].rpartition("/")[2], int(row["tp"]), int(row["pp"])): int(
          row["max_num_tokens"]
      )
      for row in csv.DictReader(path.open())
  }
