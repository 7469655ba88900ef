"""Two lanes a worker: prompts on a share of its chips, decodes on the rest.

Isolation inside one chip, as in semi-PD (arXiv 2504.19867), Nexus (2507.06608)
and DuetServe (2511.04791): both phases run at the same time on separate
multiprocessors and use one pool of pages, so nothing is moved and no weights
are held twice. What a share makes of a step's time is the simulator's affair
(`pdjax.simulate.shares`).
"""

from collections.abc import Iterator

from pdjax.events import UNTIL_INTERRUPTED, Command, Interrupt, Step
from pdjax.schedule.batching import (
  candidates,
  chunks_within,
  left_out,
  make_room,
  whole_prompts,
)
from pdjax.schedule.worker import Worker
from pdjax.schedule.world import World

PREFILL, DECODE = 0, 1
LANES = 2


class Lanes:
  """Prompts in order of arrival in one lane, all decodes in the other.

  A prompt that is done joins the decodes after the step they are in. Prefill
  steps are whole prompts, or chunks where the worker has a chunk size.
  """

  def batch(self, worker: Worker, world: World) -> Iterator[Command]:
    yield from self._decode(worker)
    if worker.runs[PREFILL] is None:
      yield from self._prefill(worker, world)

  def _decode(self, worker: Worker) -> Iterator[Command]:
    run = worker.runs[DECODE]
    if run is None:
      if decodes := (yield from make_room(worker)):
        yield Step(
            worker.id, decode=decodes, repeats=UNTIL_INTERRUPTED, lane=DECODE
        )
    elif run.interruptible and left_out(worker):
      yield Interrupt(worker.id, DECODE)

  def _prefill(self, worker: Worker, world: World) -> Iterator[Command]:
    if budget_tokens := worker.spec.chunk_size:
      offered = candidates(worker, world)
      prompts = yield from chunks_within(budget_tokens, offered, worker)
    else:
      prompts = yield from whole_prompts(worker, world)
    if prompts:
      yield Step(worker.id, prefill=prompts, lane=PREFILL)
