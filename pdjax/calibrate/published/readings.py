"""One published measurement, what the simulator says, and errors of many.

A reading is of one engine; a set of scalars may hold a few for one engine only
(how fast its host launches kernels), beside those of the hardware.

Units: `_ms` milliseconds; errors are relative to the measurement, signed.
"""

import dataclasses
import statistics
from collections.abc import Callable, Mapping, Sequence

from pdjax.simulate.scalars import Scalars


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reading:
  """A published time, and how the simulator prices the same."""

  source: str
  """What is compared: a line of a table."""
  case: str
  """Model, layout and load, in words."""
  engine: str = ""
  measured_ms: float
  fitted: bool
  """Whether scalars are fitted on it; the others are for testing."""
  price_ms: Callable[[Scalars], float]


@dataclasses.dataclass(frozen=True)
class ScalarSet:
  """Scalars of one kind of hardware; `engines` override some."""

  hardware: Mapping[str, float] = dataclasses.field(default_factory=dict)
  engines: Mapping[str, Mapping[str, float]] = dataclasses.field(
      default_factory=dict
  )
  size: int = 0
  """How many numbers were fitted; engines may share one."""

  def of(self, engine: str, assumed: Mapping[str, float]) -> Scalars:
    """For one engine; `assumed` is what is known of it beforehand."""
    said = {**assumed, **self.hardware, **self.engines.get(engine, {})}
    return dataclasses.replace(Scalars(), **said)


@dataclasses.dataclass(frozen=True, slots=True)
class Errors:
  """Of several readings."""

  count: int
  median: float
  """Of their sizes."""
  p90: float
  mean: float
  """Of their sizes: the MAPE."""
  bias: float
  """The signed median."""


def error_of(reading: Reading, scalars: Scalars) -> float:
  return reading.price_ms(scalars) / reading.measured_ms - 1.0


def errors_of(signed: Sequence[float]) -> Errors:
  """Summarises signed errors.

  >>> errors_of([-0.1, 0.3])
  Errors(count=2, median=0.2, p90=0.28, mean=0.2, bias=0.1)
  """
  sizes = sorted(map(abs, signed))
  at = 0.9 * (len(sizes) - 1)
  low = sizes[int(at)]
  high = sizes[min(int(at) + 1, len(sizes) - 1)]
  return Errors(
      count=len(sizes),
      median=statistics.median(sizes),
      p90=low + (high - low) * (at - int(at)),
      mean=statistics.fmean(sizes),
      bias=statistics.median(signed),
  )
