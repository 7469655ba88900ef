"""One worker's model and chips, as far as their utilisation needs them."""

import dataclasses

from pdjax.simulate.chip import Chip
from pdjax.simulate.work import Operators


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Worker:
  """What computes, and what it could do at best."""

  role: str
  operators: Operators
  """Of the model as laid out on its chips."""
  chip: Chip | None
  """None: unknown what the devices could do."""
  devices: str
  """What they are called, for who asks why a figure is missing."""

  @property
  def alone(self) -> Operators:
    """Of the model on one chip: nothing is repeated."""
    return Operators(self.operators.spec, self.operators.dtypes)

  @property
  def peak_flops(self) -> float | None:
    """Operations a second of all chips in the products' format."""
    dtypes = self.operators.dtypes
    if self._lacks(dtypes.activation) or self._lacks(dtypes.product):
      return None
    assert self.chip is not None
    return float(
        self.operators.layout.chips * self.chip.flops(dtypes.product)
    )

  @property
  def peak_bytes_per_s(self) -> float | None:
    """Of the memory of all chips."""
    if self.chip is None or self.chip.hbm_bytes_per_s is None:
      return None
    return float(self.operators.layout.chips * self.chip.hbm_bytes_per_s)

  @property
  def unknown(self) -> str:
    """Which peaks are not known; empty if all are."""
    peaks = {
        "operations": self.peak_flops, "bytes": self.peak_bytes_per_s,
    }
    missing = [name for name, peak in peaks.items() if peak is None]
    if not missing:
      return ""
    return f"peak {' and '.join(missing)} a second of {self.devices!r}"

  def _lacks(self, dtype: str) -> bool:
    return self.chip is None or not self.chip.multiplies(dtype)
