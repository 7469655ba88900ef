"""A published profile as a worker's cost model.

Steps are priced by the profile; copies of pages, of which profiles do not
speak, from first principles. What lies outside the profile is counted.
"""

from typing import Any, Protocol

from pdjax.schedule.cost import StepShape
from pdjax.segments import Segment
from pdjax.simulate.costs import AnalyticalCost
from pdjax.simulate.work import Work


class StepTimes(Protocol):
  """Step times of one model on one layout."""

  def segments(self, shape: StepShape) -> tuple[Segment, ...]:
    """As `StepCost.step`."""
    ...

  def provenance_of(self, shape: StepShape) -> str:
    """`measured` or `extrapolated`."""
    ...


class ProfiledCost:
  """Prices the steps of one worker by a profile. A `StepCost`."""

  def __init__(self, times: StepTimes, analytical: AnalyticalCost, name: str):
    """`analytical` prices copies; `name` is the profile's."""
    self._times, self._name = times, name
    self.analytical = analytical
    self.spec, self.chip = analytical.spec, analytical.chip
    self.dtypes, self.layout = analytical.dtypes, analytical.layout
    self.scalars = analytical.scalars
    self.steps = {"measured": 0, "extrapolated": 0}
    """Passes priced so far."""

  @property
  def provenance(self) -> dict[str, Any]:
    """What these prices rest on; JSON-able."""
    return {
        "kind": "published profile",
        "profile": self._name,
        "model": self.spec.name,
        "chip": self.chip.name,
        "layout": str(self.layout),
        "steps_measured": self.steps["measured"],
        "steps_extrapolated": self.steps["extrapolated"],
        "copies": "analytical",
    }

  def step(self, shape: StepShape) -> tuple[Segment, ...]:
    """Times of the shape's passes; see `StepCost.step`."""
    self.steps[self._times.provenance_of(shape)] += shape.repeats
    return self._times.segments(shape)

  def work(self, shape: StepShape) -> Work:
    """Operations and bytes that all the shape's passes need."""
    return self.analytical.work(shape)

  def transfer_bytes(self, tokens: int) -> int:
    return self.analytical.transfer_bytes(tokens)

  def gather_ps(self, size_bytes: int) -> int:
    return self.analytical.gather_ps(size_bytes)

  def scatter_ps(self, size_bytes: int) -> int:
    return self.analytical.scatter_ps(size_bytes)
