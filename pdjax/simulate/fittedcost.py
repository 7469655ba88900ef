"""Step costs of seven fitted numbers; what calibration measures and fits.

A pass costs a fixed time, one more if the scheduler had to be asked for it, a
time per prompt chunk, per prompt token, per pair of prompt token and attended
token, per decoding sequence and per token it attends to. Tokens and sequences
count as padded where programs are compiled for a few sizes only.

Units: `_ps` picoseconds.
"""

import bisect
import dataclasses
import functools
import operator

from pdjax.schedule.cost import StepShape
from pdjax.segments import Segment
from pdjax.simulate.sharing import ISOLATED, Sharing


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
  begin_ps: int = 0
  """Of what the engine does once a command: hearing of it, packing, sending
  numbers to the device. A decode run goes on without."""
  chunk_ps: int
  prompt_token_ps: int
  prompt_pair_ps: int
  decode_ps: int
  context_token_ps: int
  copy_ps_per_byte: float
  """Of gathering, and of scattering, a hand-off's pages."""
  gather_fixed_ps: int = 0
  scatter_fixed_ps: int = 0
  kv_bytes_per_token: int
  padding: Padding = UNPADDED
  sharing: Sharing = ISOLATED

  def step(self, shape: StepShape, busy: int = 1) -> tuple[Segment, ...]:
    """See `StepCost.step`; a decode run is a straight line after its first.

    `busy` workers of the host work meanwhile. Prices are scaled, not their
    sum, so that passes stay straight lines of integers.
    """
    prices = self.prices(bool(shape.prefill), busy)
    counts = features(shape, self.padding)
    first_ps = max(1, sum(map(operator.mul, prices, counts)))
    slope_ps = shape.decode_seqs * prices[_CONTEXT]
    if shape.repeats == 1 or not (shape.begins and prices[_BEGIN]):
      return (Segment(shape.repeats, first_ps, slope_ps),)
    second_ps = max(1, first_ps - prices[_BEGIN] + slope_ps)
    return (
        Segment(1, first_ps), Segment(shape.repeats - 1, second_ps, slope_ps)
    )

  def prices(self, prompts: bool, busy: int = 1) -> tuple[int, ...]:
    """In the order of `PRICES`, while `busy` workers are."""
    known = self._known
    if (prompts, busy) not in known:
      slowdown = self.sharing.slowdown(prompts, busy)
      known[prompts, busy] = tuple(
          [round(getattr(self, price) * slowdown) for price in PRICES]
      )
    return known[prompts, busy]

  @functools.cached_property
  def _known(self) -> dict[tuple[bool, int], tuple[int, ...]]:
    return {}

  def transfer_bytes(self, tokens: int) -> int:
    return tokens * self.kv_bytes_per_token

  def gather_ps(self, size_bytes: int) -> int:
    return self.gather_fixed_ps + round(size_bytes * self.copy_ps_per_byte)

  def scatter_ps(self, size_bytes: int) -> int:
    return self.scatter_fixed_ps + round(size_bytes * self.copy_ps_per_byte)


PRICES = (
    "fixed_ps", "begin_ps", "chunk_ps", "prompt_token_ps", "prompt_pair_ps",
    "decode_ps", "context_token_ps",
)
"""Of `FittedCost`, in the order of `features`."""
COPIES = ("gather_fixed_ps", "scatter_fixed_ps", "copy_ps_per_byte")
"""Likewise, what it says of copies."""
_BEGIN, _CONTEXT = map(PRICES.index, ("begin_ps", "context_token_ps"))


def features(
    shape: StepShape, padding: Padding = UNPADDED
) -> tuple[int, ...]:
  """What a step is charged for, in the order of `PRICES`.

  >>> features(StepShape(((4, 10),), 2, 50))
  (1, 1, 1, 4, 50, 2, 50)
  """
  return (
      1,
      int(shape.begins or bool(shape.prefill)),
      len(shape.prefill),
      padding.prompts(sum(tokens for tokens, _ in shape.prefill)),
      sum(_pairs(tokens, cached) for tokens, cached in shape.prefill),
      padding.decodes(shape.decode_seqs, bool(shape.prefill)),
      shape.decode_context_tokens,
  )


def _pairs(tokens: int, cached: int) -> int:
  """Pairs of a chunk's token and one it attends to, causal."""
  return tokens * cached + tokens * (tokens + 1) // 2
