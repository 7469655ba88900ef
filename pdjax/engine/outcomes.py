"""What a worker reports of a run, said in the scheduler's vocabulary.

Units: `_ps` integer picoseconds from the start of the run.
"""

import itertools

from pdjax.engine.orders import RunOver
from pdjax.events import StepEnded
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
