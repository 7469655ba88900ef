"""What serves: real devices or prices, and which prices."""

import dataclasses
from typing import Literal

NAMED_COSTS = ("analytical", "fitted")
"""Values of `backend.costs` that are no file."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Backend:
  kind: Literal["jax", "simulated"] = "simulated"
  """`jax` computes on real devices, `simulated` prices the work."""
  costs: str = "analytical"
  """What prices simulated steps: `analytical` (first principles), `fitted` (the
  same, scalars fitted to published measurements of such chips), or the path of
  one's own calibration (`pdjax.calibrate`) or of a published profile of
  DistServe or Splitwise."""
  padding: Literal["none", "engine"] = "none"
  """Of simulated steps: `none` prices what is in them, `engine` what pdjax' own
  engine would make of them: prompts and decodes padded to the sizes that it
  compiles, of which `engine.max_programs` allows so many."""
  draw: int = 0
  """Draws what `analytical` and `fitted` costs assume anew, within its stated
  uncertainty, and the prices of a calibration, within its median error; 0: as
  stated. A verdict should hold in 19 of 20 draws."""
