"""Step costs of eight fitted numbers; what calibration measures and fits.

A pass costs a fixed time, one more if the scheduler had to be asked for it, a
time per microsecond that the host had rested before, per prompt chunk, per
prompt token, per pair of prompt token and attended token, per decoding sequence
and per token it attends to. Tokens and sequences count as padded where programs
are compiled for a few sizes only.

Units: `_ps` picoseconds.
"""

import bisect
import dataclasses
import functools
import operator

from pdjax.schedule.cost import StepShape
from pdjax.segments import Segment
from pdjax.simulate.sharing import ALONE, ISOLATED, Beside, Sharing


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
  rest_ps: int = 0
  """Of a microsecond for which nobody on the host had worked before, up to
  `LONGEST_REST_US` of them."""
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

  def step(
      self, shape: StepShape, beside: Beside = ALONE
  ) -> tuple[Segment, ...]:
    """See `StepCost.step`; a decode run is a straight line after its first.

    `beside`: who else of the host is busy meanwhile. Each price rises with
    them, not their sum, so that passes stay straight lines of integers.
    """
    prices, counts = self.prices(beside), features(shape, self.padding)
    first_ps = max(1, sum(map(operator.mul, prices, counts)))
    slope_ps = shape.decode_seqs * prices[_CONTEXT]
    once_ps = counts[_BEGIN] * prices[_BEGIN] + counts[_REST] * prices[_REST]
    if shape.repeats == 1 or not once_ps:
      return (Segment(shape.repeats, first_ps, slope_ps),)
    second_ps = max(1, first_ps - once_ps + slope_ps)
    return (
        Segment(1, first_ps), Segment(shape.repeats - 1, second_ps, slope_ps)
    )

  def prices(self, beside: Beside = ALONE) -> tuple[int, ...]:
    """In the order of `PRICES`."""
    known = self._known
    if beside not in known:
      known[beside] = tuple([
          getattr(self, price) + self.sharing.rise_ps(at, beside)
          for at, price in enumerate(PRICES)
      ])
    return known[beside]

  @functools.cached_property
  def _known(self) -> dict[Beside, tuple[int, ...]]:
    return {}

  def scaled(self, factor: float) -> "FittedCost":
    """The same with every price of a pass times `factor`."""
    prices = {name: round(factor * getattr(self, name)) for name in PRICES}
    sharing = Sharing(**{
        kind: tuple([round(factor * rise) for rise in rises])
        for kind, rises in dataclasses.asdict(self.sharing).items()
    })
    return dataclasses.replace(self, **prices, sharing=sharing)

  def transfer_bytes(self, tokens: int) -> int:
    return tokens * self.kv_bytes_per_token

  def gather_ps(self, size_bytes: int) -> int:
    return self.gather_fixed_ps + round(size_bytes * self.copy_ps_per_byte)

  def scatter_ps(self, size_bytes: int) -> int:
    return self.scatter_fixed_ps + round(size_bytes * self.copy_ps_per_byte)


PRICES = (
    "fixed_ps", "begin_ps", "rest_ps", "chunk_ps", "prompt_token_ps",
    "prompt_pair_ps", "decode_ps", "context_token_ps",
)
"""Of `FittedCost`, in the order of `features`."""
COPIES = ("gather_fixed_ps", "scatter_fixed_ps", "copy_ps_per_byte")
"""Likewise, what it says of copies."""
_BEGIN, _REST, _CONTEXT = map(
    PRICES.index, ("begin_ps", "rest_ps", "context_token_ps")
)
PS_PER_US = 10**6
LONGEST_REST_US = 50_000
"""Longer ones cost no more. On two processor cores a prefill after 2 ms took
0.78 of its mean price, after 12 ms 0.84, 40 ms 1.07, and beyond that 1.15."""


def features(
    shape: StepShape, padding: Padding = UNPADDED
) -> tuple[int, ...]:
  """What a step is charged for, in the order of `PRICES`.

  >>> features(StepShape(((4, 10),), 2, 50))
  (1, 1, 0, 1, 4, 50, 2, 50)
  """
  return (
      1,
      int(shape.begins or bool(shape.prefill)),
      min(shape.rested_us, LONGEST_REST_US),
      len(shape.prefill),
      padding.prompts(sum(tokens for tokens, _ in shape.prefill)),
      sum(_pairs(tokens, cached) for tokens, cached in shape.prefill),
      padding.decodes(shape.decode_seqs, bool(shape.prefill)),
      shape.decode_context_tokens,
  )


def _pairs(tokens: int, cached: int) -> int:
  """Pairs of a chunk's token and one it attends to, causal."""
  return tokens * cached + tokens * (tokens + 1) // 2
