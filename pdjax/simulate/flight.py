"""A simulated transfer under way.

Units: `_ps` integer picoseconds, `_bytes` bytes.
"""

import dataclasses

from pdjax.events import Transfer, TransferEnded, TransferProgressed
from pdjax.faults import Harm
from pdjax.simulate.stages import Leaving, Stages


@dataclasses.dataclass(slots=True, eq=False)
class Flight:
  """A transfer under way."""

  command: Transfer
  size_bytes: int
  """That travel."""
  copied_bytes: int
  """As much as is read and written on either side, halved."""
  harm: Harm | None
  leaving: Leaving | None = None
  """Its groups of layers, if it leaves a step layer by layer, ..."""
  stages: Stages | None = None
  """... and that step."""
  coming: TransferProgressed | TransferEnded | None = None
  """The event that is the next of it; None: a group of layers is gathered."""
  awaited: int = -1
  """Which of what is pending that is; the rest is outdated."""
  sent: bool = False

  @property
  def fault(self) -> str:
    return self.harm.kind if self.harm else ""

  @property
  def link_bytes(self) -> int:
    """Of all of it, or of the next group of layers."""
    size_bytes, factor = self.size_bytes, self.harm.factor if self.harm else 1.0
    if self.leaving:
      size_bytes = self.leaving.bytes_of(self.leaving.sent, size_bytes)
    return round(size_bytes * factor)

  def failed(self, at_ps: int, why: str) -> TransferEnded:
    """The event of its failure."""
    command = self.command
    return TransferEnded(
        at_ps, command.transfer, command.request, 0, why, self.fault
    )
