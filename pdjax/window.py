"""The measured part of a run under the `steady` protocol.

Requests that arrive before it warm the system up, requests after it keep the
load up until all that arrived in it have ended. Neither is measured.
"""

import dataclasses
from typing import Any, TypeVar

from pdjax.config import Workload

T = TypeVar("T", bound=Any)

_PS_PER_S = 10**12
DEFAULT_DURATION_S = 60.0
HORIZON = 2
"""Until when arrivals are prepared, as a multiple of warm-up and window."""
WARMUP_SHARE = 0.25
"""Of the duration, where `workload.warmup_s` is not said."""


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
  """From `begin_ps` on, up to but not at `end_ps`."""

  begin_ps: int
  end_ps: int

  @property
  def horizon_ps(self) -> int:
    """Until when arrivals are prepared: as long again as it takes to measure.

    Measured requests that have not ended by then end without company.
    """
    return HORIZON * self.end_ps

  @property
  def begin_ns(self) -> int:
    return self.begin_ps // 1000

  @property
  def end_ns(self) -> int:
    return self.end_ps // 1000

  @property
  def duration_ns(self) -> int:
    return (self.end_ps - self.begin_ps) // 1000

  def holds(self, at_ps: T) -> T:
    """Whether a time, or each of an array's, lies in it."""
    return (self.begin_ps <= at_ps) & (at_ps < self.end_ps)


def window_of(workload: Workload) -> Window | None:
  """The measured window; None where the protocol counts requests."""
  if workload.protocol != "steady":
    return None
  duration_s, warmup_s = lasting(workload)
  begin_ps = round(warmup_s * _PS_PER_S)
  return Window(begin_ps, begin_ps + round(duration_s * _PS_PER_S))


def lasting(workload: Workload) -> tuple[float, float]:
  """Seconds measured, and seconds of warm-up before."""
  duration_s = workload.duration_s
  if duration_s is None:
    duration_s = DEFAULT_DURATION_S
  warmup_s = workload.warmup_s
  if warmup_s is None:
    warmup_s = WARMUP_SHARE * duration_s
  return duration_s, warmup_s
