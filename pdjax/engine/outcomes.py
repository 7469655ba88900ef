"""What the threads report, said in the scheduler's vocabulary.

Units: `_ps` integer picoseconds from the start of the run, `_bytes` bytes.
"""

import itertools

from pdjax.engine.orders import Landed, RunOver
from pdjax.events import StepEnded, Transfer, TransferEnded
from pdjax.segments import Segment


def step_ended(
    now_ps: int, over: RunOver, finished: tuple[tuple[int, int], ...]
) -> StepEnded:
  """A run is over: one segment a step, as its worker measured it."""
  times_ps = (over.started_ps, *over.ends_ps)
  segments = tuple(
      Segment(1, after - before)
      for before, after in itertools.pairwise(times_ps)
  )
  return StepEnded(
      at_ps=now_ps,
      worker=over.worker,
      lane=0,
      run=over.run,
      started_ps=over.started_ps,
      steps=len(segments),
      segments=segments,
      finished=finished,
  )


def transfer_ended(
    now_ps: int, landed: Landed, command: Transfer, page_bytes: int
) -> TransferEnded:
  """A transfer is over.

  Its bytes are the pages that left the source, copies of heads included and
  the padding of staging arrays left out; `page_bytes` is of the source's pool.
  """
  first, last = command.pages
  return TransferEnded(
      at_ps=now_ps,
      transfer=landed.transfer,
      request=command.request,
      moved_bytes=(last - first) * page_bytes,
      failure=landed.failure,
  )
