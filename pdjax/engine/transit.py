"""Transfers under way: what their workers are told, and what is reported back.

Units: `_ps` integer picoseconds from the start of the run, `_bytes` bytes.
"""

from pdjax.engine.orders import GatherOrder, Landed, Passed
from pdjax.events import Transfer, TransferEnded, TransferProgressed
from pdjax.faults import Harm
from pdjax.schedule.world import World


class Transit:
  """The transfers that have started and not landed, by number."""

  def __init__(self):
    self._transfers: dict[int, Transfer] = {}
    self._faults: dict[int, str] = {}

  def __len__(self) -> int:
    return len(self._transfers)

  def start(
      self,
      command: Transfer,
      world: World,
      lives: tuple[int, int],
      harm: Harm | None,
  ) -> GatherOrder:
    """Notes a transfer down; the order is for its source.

    Args:
      lives: of its source and its target.
      harm: what goes wrong with it.
    """
    self._transfers[command.transfer] = command
    if harm:
      self._faults[command.transfer] = harm.kind
    pages = world.progress[command.request].pages
    first, last = command.pages
    return GatherOrder(
        command.transfer,
        tuple(pages[command.source][first:last]),
        command.target,
        tuple(pages[command.target][first:last]),
        *lives,
        harm,
    )

  def passed(self, now_ps: int, report: Passed) -> TransferProgressed:
    request = self._transfers[report.transfer].request
    return TransferProgressed(now_ps, report.transfer, request, report.stage)

  def source(self, report: Landed) -> int:
    """The worker that a transfer came from."""
    return self._transfers[report.transfer].source

  def land(self, now_ps: int, report: Landed, page_bytes: int) -> TransferEnded:
    """A transfer is over.

    Its bytes are the pages that left the source, copies of heads included and
    the padding of staging arrays left out; `page_bytes` is of its pool.
    """
    command = self._transfers.pop(report.transfer)
    first, last = command.pages
    return TransferEnded(
        at_ps=now_ps,
        transfer=command.transfer,
        request=command.request,
        moved_bytes=(last - first) * page_bytes,
        failure=report.failure,
        fault=self._faults.pop(report.transfer, ""),
    )
