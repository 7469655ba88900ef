"""The batching rule of vLLM's V1 scheduler, as far as it decides who runs.

Kwon et al., SOSP'23, and the project's documentation of V1: one token budget
for prompts and decodes, those that run before those that wait, first come first
served, preemption of the newest with recomputation, a prefix cache. What is
left out: multimodal inputs, speculation, priorities, and the cap on partial
prompts, which is off by default.
"""

from collections.abc import Generator, Iterator

from pdjax.events import UNTIL_INTERRUPTED, Command, Preempt
from pdjax.request import Progress
from pdjax.schedule.batching import candidates, chunks_within, one_pass
from pdjax.schedule.worker import Worker
from pdjax.schedule.world import World


class VllmV1:
  """Running requests first, then the queue, within `chunk_size` tokens.

  A request is admitted once its whole prompt fits, however little of it is
  computed at first. A decode without a page for its next token preempts the one
  admitted last, itself if need be; in such a step nobody is admitted. It is one
  step, since the next admits again, and a prefix cache may have kept what the
  preempted needs.
  """

  def batch(self, worker: Worker, world: World) -> Iterator[Command]:
    preempted = yield from _make_room(worker)
    decodes = tuple(worker.decoding)
    longest = 1 if preempted else UNTIL_INTERRUPTED
    assert worker.spec.chunk_size is not None
    budget_tokens = worker.spec.chunk_size - len(decodes)
    running = [*worker.prefilling.values()]
    offered = iter(running) if preempted else candidates(worker, world)
    chunks = yield from chunks_within(budget_tokens, offered, worker)
    yield from one_pass(worker, chunks, decodes, longest)


def _make_room(worker: Worker) -> Generator[Command, None, bool]:
  """Preempts those admitted last until each decode has its next page."""
  preempted = False
  while worker.next_step_pages() > worker.pool.free_pages:
    yield Preempt(_admitted_last(worker).id)
    preempted = True
  return preempted


def _admitted_last(worker: Worker) -> Progress:
  """Prompts are completed in the order in which they are admitted."""
  running = worker.prefilling or worker.decoding
  return running[next(reversed(running))]
