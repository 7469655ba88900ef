"""One's own engine's step costs, as `pdjax.calibrate` writes them.

A JSON object; its member `pdjax.calibration` is the version of the format. It
holds the fitted prices, what they were fitted on and how far they are off on
steps left out, the range that was measured, and who measured.

Units: `_ps` picoseconds, `_bytes` bytes.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from pdjax.schedule.cost import StepShape
from pdjax.segments import Segment
from pdjax.simulate.costs import AnalyticalCost
from pdjax.simulate.fittedcost import COPIES, PRICES, FittedCost, Padding
from pdjax.simulate.links import Link
from pdjax.simulate.profiles.cost import ProfiledCost
from pdjax.simulate.rates import ps_of
from pdjax.simulate.sharing import Sharing

VERSION_KEY = "pdjax.calibration"
VERSION = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class Range:
  """The largest of each that was measured; beyond it prices extrapolate."""

  prompt_tokens: int
  """In one pass."""
  cached_tokens: int
  """Before a chunk."""
  sequences: int
  """That decode in one pass."""
  context_tokens: int
  """Attended to by all decodes of a pass."""

  def holds(self, shape: StepShape) -> bool:
    tokens = sum(tokens for tokens, _ in shape.prefill)
    cached = max((cached for _, cached in shape.prefill), default=0)
    last = shape.decode_context_tokens + shape.decode_seqs * (shape.repeats - 1)
    return (
        tokens <= self.prompt_tokens
        and cached <= self.cached_tokens
        and shape.decode_seqs <= self.sequences
        and last <= self.context_tokens
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Calibration:
  """A file's content, as far as prices need it."""

  model: str
  tp: int
  cost: FittedCost
  link: Link
  range: Range
  accuracy: str

  def segments(self, shape: StepShape) -> tuple[Segment, ...]:
    return self.cost.step(shape)

  def provenance_of(self, shape: StepShape) -> str:
    return "measured" if self.range.holds(shape) else "extrapolated"


class CalibratedCost(ProfiledCost):
  """Prices steps and copies of pages as they were measured."""

  def __init__(
      self, calibration: Calibration, analytical: AnalyticalCost, name: str
  ):
    super().__init__(calibration, analytical, name)
    self._calibration = calibration

  @property
  def fitted(self) -> FittedCost:
    """What prices its steps, busy neighbours included."""
    return self._calibration.cost

  @property
  def provenance(self) -> dict[str, Any]:
    return super().provenance | {
        "kind": "calibrated",
        "accuracy": self._calibration.accuracy,
        "copies": "calibrated",
    }

  def transfer_bytes(self, tokens: int) -> int:
    return self._calibration.cost.transfer_bytes(tokens)

  def gather_ps(self, size_bytes: int) -> int:
    return self._calibration.cost.gather_ps(size_bytes)

  def scatter_ps(self, size_bytes: int) -> int:
    return self._calibration.cost.scatter_ps(size_bytes)


def is_calibration(tree: Any) -> bool:
  return isinstance(tree, Mapping) and VERSION_KEY in tree


def read(tree: Mapping[str, Any]) -> Calibration:
  """What a file says.

  Raises:
    ValueError, KeyError, TypeError: it is not of the format.
  """
  if tree[VERSION_KEY] != VERSION:
    raise ValueError(
        f"calibration format {tree[VERSION_KEY]!r}, this pdjax reads {VERSION}"
    )
  padding = {name: tuple(sizes) for name, sizes in tree["padding"].items()}
  return Calibration(
      model=tree["model"],
      tp=tree["tp"],
      cost=FittedCost(
          **{name: int(tree["prices"][name]) for name in PRICES},
          **{name: tree["copies"][name] for name in COPIES},
          kv_bytes_per_token=int(tree["kv_bytes_per_token"]),
          padding=Padding(**padding),
          sharing=Sharing(**tree["sharing"]),
      ),
      link=Link(
          int(tree["link"]["bandwidth_bytes_per_s"]),
          ps_of(tree["link"]["latency_s"]),
      ),
      range=Range(**tree["range"]),
      accuracy=str(tree["accuracy"]),
  )
