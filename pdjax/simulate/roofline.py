"""Where steps lie on a chip's roofline (Williams et al., CACM 2009).

A point is a whole step of a model: operations per byte of what it needs, and
the operations per second that the cost model gives it. The roof is the lower
of the chip's peak and its bandwidth times the intensity.

Units: `_flops` operations, `_per_s` per second.
"""

import dataclasses
from collections.abc import Sequence

from pdjax.schedule.cost import StepShape
from pdjax.simulate.costs import AnalyticalCost
from pdjax.simulate.rates import PS_PER_S
from pdjax.simulate.work import Work


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
  """A step on the roofline."""

  label: str
  shape: StepShape
  work: Work
  """That the model needs."""
  seconds: float
  """That the cost model gives it."""

  @property
  def intensity(self) -> float:
    """Operations per byte."""
    return self.work.intensity

  @property
  def flops_per_s(self) -> float:
    """Of all chips of the worker."""
    return self.work.flops / self.seconds

  def least_s(self, peak_flops: int, bytes_per_s: int) -> float:
    """Seconds under the roof: the longer of its operations and its bytes."""
    return max(self.work.flops / peak_flops, self.work.bytes / bytes_per_s)


def roof_flops_per_s(
    peak_flops: int, bytes_per_s: int, intensity: float
) -> float:
  """The most operations a second at an intensity."""
  return min(peak_flops, bytes_per_s * intensity)


def prefill_points(
    cost: AnalyticalCost, chunks: Sequence[int]
) -> list[Point]:
  """One chunk from the start of a prompt in a step."""
  return [
      _point(cost, f"prefill {tokens}", StepShape(((tokens, 0),)))
      for tokens in chunks
  ]


def decode_points(
    cost: AnalyticalCost, batches: Sequence[int], context_tokens: int
) -> list[Point]:
  """One token of each of a batch of equally long sequences."""
  return [
      _point(
          cost, f"decode {seqs}", StepShape((), seqs, seqs * context_tokens)
      )
      for seqs in batches
  ]


def _point(cost: AnalyticalCost, label: str, shape: StepShape) -> Point:
  seconds = cost.step(shape)[0].first_ps / PS_PER_S
  return Point(label, shape, cost.work(shape), seconds)


def square_projection(rows: int, width: int, dtype_bytes: int = 2) -> Work:
  """[rows, width] x [width, width], the textbooks' example.

  >>> round(square_projection(512, 4096).intensity)
  410
  """
  values = width**2 + 2 * rows * width
  return Work(2 * rows * width**2, values * dtype_bytes)

